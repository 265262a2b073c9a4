// Steps through the map: what is drawn stays where it is, and its words, widths and classes become those of another step.
(() => {
  'use strict';

  const element = document.getElementById('map-data');
  if (element === null) return;
  const { rows, steps, open: opens } = JSON.parse(element.textContent);
  const place = (id) => document.getElementById(id);
  const picture = place('lab-map');
  const table = [...place('map-table').tBodies[0].rows];
  const heads = [...place('map-table').tHead.rows[1].cells].slice(2).map((head) => head.textContent);
  const slider = place('map-step');
  const axis = place('map-axis');
  const controls = document.querySelector('.map-controls');
  const button = (name) => controls.querySelector(`[data-map=${name}]`);
  const drawn = [...picture.querySelectorAll('[data-row]')];
  const wires = [...picture.querySelectorAll('[data-link]')];
  let at = 0;

  const fill = (group, className, width) => {
    const [track, bar] = [group.querySelector(':scope > .track'), group.querySelector(':scope > .fill')];
    if (className !== undefined) group.setAttribute('class', className);
    if (bar !== null) bar.setAttribute('width', Math.round(track.getAttribute('width') * width) / 100);
  };
  const say = (group, selector, text) => {
    const found = group.querySelector(`:scope > ${selector}`);
    if (found !== null) found.textContent = text;
  };

  // What a hop's words are in the table, in one line.
  const words = (n, cells) => {
    const known = cells.map((cell, i) => (cell === '' ? '' : `${heads[i]} ${cell}`)).filter((text) => text !== '');
    return `${table[n].cells[0].textContent.replace('▸', '').replace('▾', '')}: ${known.join(', ') || 'not counted'}`;
  };

  const show = (to) => {
    at = Math.min(Math.max(to, 0), steps.length - 1);
    const step = steps[at];
    place('map-label').textContent = step.label;
    place('map-total').textContent = step.total;
    place('map-limit').textContent = step.limit;
    if (slider !== null) {
      slider.value = at;
      slider.setAttribute('aria-valuetext', step.label);
    }
    const marks = new Map([...step.second.map((row) => [rows[row], ' next']), ...step.first.map((row) => [rows[row], ' limit'])]);
    for (const group of drawn) {
      const n = Number(group.dataset.row);
      const [classes, widths, text, cells] = step.rows[n];
      const kind = group.classList.contains('link') ? 'link' : 'hop';
      fill(group, `${kind} u${classes[0]}${marks.get(n) ?? ''}`, widths[0]);
      say(group, 'title', words(n, cells));
      say(group, '.figure', text);
      ['read', 'write'].forEach((way, i) => {
        say(group, `.rate.${way}`, cells[1 + 2 * i] === '' ? 'not counted' : `${cells[1 + 2 * i]} MB/s`);
        say(group, `.share.${way}`, cells[2 + 2 * i] === '' ? '' : `${cells[2 + 2 * i]}%`);
        const bar = group.querySelector(`.way${i + 1}`);
        if (bar !== null) fill(bar, `d${classes[1 + i]} way${i + 1}`, widths[1 + i]);
      });
    }
    for (const wire of wires) {
      const classes = step.rows[rows[wire.dataset.link]][0];
      wire.setAttribute('class', `wire d${classes[Number(wire.dataset.way)]}`);
    }
    table.forEach((row, n) => {
      row.classList.toggle('knee', marks.get(n) === ' limit');
      step.rows[n][3].forEach((cell, i) => { row.cells[2 + i].textContent = cell === '' ? '–' : cell; });
    });
  };

  // The steps that differ from this one by an axis alone, in the order of the run; all of them without an axis.
  const others = () => {
    const name = axis?.value ?? '';
    const all = steps.map((_, n) => n);
    if (name === '') return all;
    const rest = (step) => JSON.stringify([step.plan, step.repetition, step.settings.filter(([key]) => key !== name)]);
    return all.filter((n) => rest(steps[n]) === rest(steps[at]));
  };
  const move = (by) => {
    const all = others();
    const next = all.indexOf(at) + by;
    if (next >= 0 && next < all.length) show(all[next]);
    return next >= 0 && next < all.length;
  };

  let timer;
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
    if (button('play') !== null) button('play').textContent = 'Play';
  };
  const play = () => {
    if (timer !== undefined) {
      stop();
      return;
    }
    const all = others();
    if (all.indexOf(at) === all.length - 1) show(all[0]);
    button('play').textContent = 'Stop';
    timer = setInterval(() => { if (!move(1)) stop(); }, 1200);
  };

  if (slider !== null) {
    slider.addEventListener('input', () => { stop(); show(Number(slider.value)); });
    button('back').addEventListener('click', () => { stop(); move(-1); });
    button('on').addEventListener('click', () => { stop(); move(1); });
    button('play').addEventListener('click', play);
    // The picture itself takes the arrow keys where it does not need them to scroll.
    picture.parentElement.addEventListener('keydown', (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (by === undefined || picture.parentElement.scrollWidth > picture.parentElement.clientWidth) return;
      event.preventDefault();
      stop();
      move(by);
    });
    controls.hidden = false;
  }

  // Stacks are opened in the table, by their button or by what stands for them in the picture.
  const members = (row) => table.filter((each) => each.dataset.stack === String(row));
  const open = (row, on) => {
    members(row).forEach((each) => { each.hidden = !on; });
    const opener = document.querySelector(`[data-open="${row}"]`);
    if (opener === null) return;
    opener.setAttribute('aria-expanded', String(on));
    opener.textContent = on ? '▾' : '▸';
  };
  for (const opener of document.querySelectorAll('[data-open]')) {
    const row = opener.dataset.open;
    opener.hidden = false;
    open(row, false);
    opener.addEventListener('click', () => open(row, opener.getAttribute('aria-expanded') !== 'true'));
  }
  for (const group of drawn) {
    group.addEventListener('click', () => {
      const n = Number(group.dataset.row);
      place('map-hops').open = true;
      open(rows.indexOf(n), true);
      table[n].scrollIntoView({ block: 'center' });
      location.replace(`#hop-${n}`);
    });
  }
  show(opens);
})();
