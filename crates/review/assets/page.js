// Draws the charts, in the colours of the theme that is shown, and lets the reader choose the theme. The page is whole
// without it, except for the charts.
(() => {
  'use strict';

  const figures = JSON.parse(document.getElementById('charts').textContent);
  const places = [...document.querySelectorAll('[data-chart]')];
  const paper = window.matchMedia('print');
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  // The width of a chart on A4 in CSS pixels: 210 mm less the margins of the style sheet.
  const PAPER_WIDTH = 680;

  // What the theme's names stand for: `var(--ink)` becomes a colour. Long rows of numbers are passed on as they are.
  const probe = document.createElement('span');
  probe.hidden = true;
  document.body.append(probe);
  const colors = new Map();
  const color = (name) => {
    if (!colors.has(name)) {
      probe.style.color = name;
      colors.set(name, getComputedStyle(probe).color);
    }
    return colors.get(name);
  };
  const numbers = (row) => typeof row[0] === 'number' && typeof row[row.length - 1] !== 'string';
  const themed = (value) => {
    if (typeof value === 'string') return value.startsWith('var(--') ? color(value) : value;
    if (Array.isArray(value)) return numbers(value) ? value : value.map(themed);
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, themed(inner)]));
  };

  const axis = {
    gridcolor: 'var(--grid)', linecolor: 'var(--rule)', zerolinecolor: 'var(--rule)', tickcolor: 'var(--rule)',
    automargin: true, ticks: 'outside', ticklen: 4, title: { standoff: 8 },
  };
  const template = {
    layout: {
      paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)',
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: 'var(--ink)' },
      hoverlabel: { bgcolor: 'var(--paper)', bordercolor: 'var(--rule)', font: { color: 'var(--ink)' } },
      margin: { l: 56, r: 24, t: 24, b: 40 }, hovermode: 'x unified', separators: '.,',
      legend: { orientation: 'h', x: 0, y: 1.02, yanchor: 'bottom' },
      modebar: { bgcolor: 'rgba(0,0,0,0)', color: 'var(--rule)', activecolor: 'var(--ink)' },
      xaxis: { ...axis, showgrid: false }, yaxis: axis,
    },
  };
  const config = {
    responsive: true, displaylogo: false, modeBarButtonsToRemove: ['select2d', 'lasso2d', 'autoScale2d'],
  };

  const draw = (place) => {
    const figure = themed(figures[place.dataset.chart]);
    const width = paper.matches ? Math.min(PAPER_WIDTH, place.clientWidth || PAPER_WIDTH) : undefined;
    const layout = { ...figure.layout, template: themed(template), width, height: place.clientHeight };
    // On a phone the bar would cover what it is for; there one zooms with two fingers.
    const displayModeBar = place.clientWidth < 500 ? false : 'hover';
    Plotly.react(place, figure.data, layout, { ...config, displayModeBar });
  };
  const drawAll = () => {
    colors.clear();
    places.forEach(draw);
  };

  // One chart a turn, so that the page can be read while the others are drawn.
  const drawInTurn = () => {
    const place = places.find((p) => !p.classList.contains('js-plotly-plot'));
    if (place === undefined) {
      document.documentElement.dataset.charts = 'drawn';
      return;
    }
    draw(place);
    setTimeout(drawInTurn);
  };

  // The theme of the system until the reader chooses another; nothing is stored.
  const button = document.getElementById('theme');
  const isDark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen === undefined ? dark.matches : chosen === 'dark';
  };
  const label = () => {
    button.textContent = isDark() ? 'Light' : 'Dark';
    button.setAttribute('aria-label', `Show the page ${isDark() ? 'light' : 'dark'}`);
  };
  button.addEventListener('click', () => {
    document.documentElement.dataset.theme = isDark() ? 'light' : 'dark';
    label();
    drawAll();
  });
  dark.addEventListener('change', () => {
    label();
    drawAll();
  });
  button.hidden = false;
  label();

  // Evidence may lie in something folded.
  const unfold = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target === null) return;
    for (let at = target.closest('details'); at !== null; at = at.parentElement.closest('details')) at.open = true;
    target.scrollIntoView({ block: target.matches('tr') ? 'center' : 'start' });
  };
  window.addEventListener('hashchange', unfold);

  // On paper everything is unfolded, and folded again after.
  let unfolded = [];
  const print = (on) => {
    if (on) {
      unfolded = [...document.querySelectorAll('details:not([open])')];
      unfolded.forEach((each) => { each.open = true; });
    } else {
      unfolded.forEach((each) => { each.open = false; });
    }
    drawAll();
  };
  paper.addEventListener('change', (event) => print(event.matches));

  if (location.hash !== '') unfold();
  drawInTurn();
})();
