// Keeps a page current. All that is shown is made by the server: without this script a page is read the same, and is
// loaded again to see what is new.
(() => {
  'use strict';

  const by = (id) => document.getElementById(id);

  // The theme, as in a review.
  const theme = by('theme');
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const shown = () => document.documentElement.dataset.theme ?? (dark.matches ? 'dark' : 'light');
  const name = () => { theme.textContent = shown() === 'dark' ? 'Light' : 'Dark'; };
  theme.hidden = false;
  theme.addEventListener('click', () => {
    document.documentElement.dataset.theme = shown() === 'dark' ? 'light' : 'dark';
    name();
  });
  dark.addEventListener('change', name);
  name();

  // Puts a part in its place. What did not change is left alone, so that nothing is selected anew or said twice; where the
  // reader has scrolled to stays.
  const parts = new Map();
  const put = (id, html) => {
    const place = by(id);
    if (place === null || parts.get(id) === html) return;
    parts.set(id, html);
    const { scrollLeft, scrollTop } = place;
    place.innerHTML = html;
    place.scrollLeft = scrollLeft;
    place.scrollTop = scrollTop;
  };

  // A run in progress. The browser connects again by itself; what comes first then is all that is known.
  const run = document.querySelector('[data-parts]');
  if (run !== null) {
    const source = new EventSource(run.dataset.parts);
    const lost = (is) => { by('live-link').hidden = !is; };
    const take = (event) => {
      lost(false);
      for (const [id, html] of Object.entries(JSON.parse(event.data))) put(id, html);
    };
    source.addEventListener('parts', take);
    source.addEventListener('end', (event) => {
      take(event);
      source.close();
      document.querySelector('.stop')?.remove();
    });
    source.addEventListener('error', () => lost(source.readyState !== EventSource.OPEN));
  }

  // The library follows what is typed, and the folder.
  const search = document.querySelector('[data-search]');
  if (search !== null) {
    const results = by(search.dataset.search);
    let asked = 0;
    const look = async (typed) => {
      const query = new URLSearchParams();
      for (const [key, value] of new FormData(search)) if (value !== '') query.set(key, value);
      const mine = ++asked;
      const answer = await fetch(`/library?${query}`).catch(() => null);
      if (answer === null || !answer.ok || mine !== asked) return;
      const html = await answer.text();
      const chosen = new Set([...results.querySelectorAll(':checked')].map((box) => box.value));
      const focus = results.contains(document.activeElement);
      if (focus && !typed) return;
      put(results.id, html);
      for (const box of results.querySelectorAll('[type=checkbox]')) box.checked = chosen.has(box.value);
      if (typed) history.replaceState(null, '', query.size === 0 ? '/' : `/?${query}`);
    };
    let wait;
    search.addEventListener('input', () => {
      clearTimeout(wait);
      wait = setTimeout(() => look(true), 120);
    });
    const changes = new EventSource('/library/changes');
    let due;
    changes.addEventListener('change', () => {
      clearTimeout(due);
      due = setTimeout(() => { if (!location.search.includes('page=')) look(false); }, 500);
    });
  }

  // Sliders ask as they move.
  const explore = document.querySelector('[data-explore]');
  if (explore !== null) {
    let busy = false;
    let again = false;
    const say = (field, text) => {
      const place = document.querySelector(`[data-out=${field}]`);
      if (place.textContent !== text) place.textContent = text;
    };
    const ask = async () => {
      if (busy) { again = true; return; }
      busy = true;
      const query = new URLSearchParams(new FormData(explore));
      const answer = await fetch(`${explore.dataset.explore}?${query}`).catch(() => null);
      const body = await answer?.json().catch(() => null);
      const problem = document.querySelector('[data-out=problem]');
      problem.hidden = body?.shown !== undefined;
      problem.textContent = body?.error?.message ?? (body === null ? 'The page has lost its server.' : '');
      for (const field of ['iops', 'throughput', 'latency', 'limit', 'next']) say(field, body?.shown?.[field] ?? '–');
      busy = false;
      if (again) { again = false; ask(); }
    };
    explore.addEventListener('input', (event) => {
      const slider = event.target;
      if (slider.dataset.reload !== undefined) { explore.submit(); return; }
      if (slider.type !== 'range') return;
      const value = JSON.parse(slider.dataset.values)[slider.value];
      slider.setAttribute('aria-valuetext', value);
      slider.closest('.axis').querySelector('output').textContent = value;
      ask();
    });
  }
})();
