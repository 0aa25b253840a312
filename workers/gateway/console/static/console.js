// What pages do between two answers of the server: count down, hear what has changed, fetch just that, obey keys.
// There is no word in here: what is shown comes from the server.
(() => {
  "use strict";
  const body = document.body;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // ---- the server's clock: countdowns agree with it, whatever this machine believes
  let offset = 0;
  const agree = (now) => { offset = now - Date.now(); };
  if (body.dataset.now) agree(Number(body.dataset.now));
  const shown = (seconds) => seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  const tick = () => {
    const now = Date.now() + offset;
    for (const place of all("[data-due]")) {
      const left = Math.max(0, Math.ceil((Number(place.dataset.due) - now) / 1000));
      const text = shown(left);
      if (place.textContent !== text) place.textContent = text;
      place.classList.toggle("soon", left <= 10);
    }
  };

  // ---- what has changed: one stream for the whole page, and one request for all that it names
  const editing = (row) => row.querySelector("[data-editing], details[open] input:focus, details[open] textarea:focus");
  const get = async (url) => {
    const answer = await fetch(url, { headers: { "X-Live": "1" }, credentials: "same-origin" });
    if (answer.status === 401) { location.href = answer.headers.get("HX-Redirect") || "/console/sign-in"; }
    if (!answer.ok) throw new Error(String(answer.status));
    return answer.text();
  };
  const parsed = (html) => { const box = document.createElement("template"); box.innerHTML = html; return [...box.content.children]; };

  const place = (list, row) => {
    const order = (one) => one.dataset.order === "" ? Infinity : Number(one.dataset.order);
    const next = [...list.children].find((one) => one.dataset.order !== undefined && order(one) > order(row));
    list.insertBefore(row, next || null);
  };
  // Where somebody writes or waits for an answer nothing is swapped, also not by what was asked for before they began:
  // their words, or the answer, would be lost.
  const late = new Set();
  const occupied = (row) => row && (editing(row) || row.getAttribute("aria-busy") === "true");
  const catchUp = () => {
    if (!late.size || document.querySelector("[data-editing]")) return;
    const jobs = [...late];
    late.clear();
    refreshRows(jobs).catch(() => {});
  };
  const refreshRows = async (jobs) => {
    const list = document.querySelector("[data-rows]");
    if (!list || !jobs.length) return;
    const wanted = jobs.filter((job) => {
      const row = document.getElementById(job);
      if (occupied(row)) late.add(job);
      return !occupied(row) && !(row && row.classList.contains("late"));
    });
    if (!wanted.length) return;
    const fresh = new Map(parsed(await get(`${list.dataset.rows}?ids=${wanted.join(",")}`)).map((row) => [row.id, row]));
    for (const job of wanted) {
      const old = document.getElementById(job), row = fresh.get(job);
      if (occupied(old)) { late.add(job); continue; }
      if (!row) { if (old && !old.hasAttribute("data-gone")) leave(old); continue; }
      if (old) { swap(old, row); } else { row.classList.add("fresh"); place(list, row); }
      window.htmx && htmx.process(row);
    }
    tick();
  };
  const swap = (old, row) => {
    const inside = old.contains(document.activeElement);
    const key = inside && document.activeElement.dataset.key;
    const told = old.querySelector(":scope > .told[role=alert]");
    if (told) row.querySelector("header")?.after(told);  // what its operator was told stays until they act
    const menus = all("details", row);
    all("details", old).forEach((menu, n) => {  // a menu that they have opened stays so, with what they wrote in it
      if (!menu.open || !menus[n]) return;
      menus[n].open = true;
      const fields = all("input, textarea", menus[n]);
      all("input, textarea", menu).forEach((field, m) => { if (fields[m]) fields[m].value = field.value; });
    });
    old.replaceWith(row);
    if (inside) (key && row.querySelector(`[data-key="${key}"]`) || row).focus({ preventScroll: true });
  };
  const leave = (row) => {
    const inside = row.contains(document.activeElement), next = row.nextElementSibling || row.previousElementSibling;
    row.remove();
    if (inside && next) next.focus({ preventScroll: true });
  };

  const parts = new Map();
  const listening = (part) => all("audio", part).some((sound) => !sound.paused);
  const taken = (part) => editing(part) || listening(part) || part.querySelector("[data-told], [aria-busy=true], details[open] form, textarea:focus, input:focus, details.again[open]");
  const refreshPart = (part) => {
    const state = parts.get(part) || { busy: false, again: false };
    parts.set(part, state);
    if (state.busy) { state.again = true; return; }
    state.busy = true;
    const done = () => setTimeout(() => { state.busy = false; if (state.again) { state.again = false; refreshPart(part); } }, 700);
    if (taken(part)) { state.again = true; done(); return; }  // whoever writes or listens sees it when they are done
    get(part.dataset.part).then((html) => {
      if (taken(part)) { state.again = true; return; }
      const inside = part.contains(document.activeElement) ? document.activeElement.closest("[id]")?.id : null;
      const unfolded = all("details[open] > summary[id]", part).map((summary) => summary.id);
      part.innerHTML = html;
      for (const id of unfolded) document.getElementById(id)?.parentElement.setAttribute("open", "");
      window.htmx && htmx.process(part);
      if (inside) document.getElementById(inside)?.focus({ preventScroll: true });
      tick();
    }).catch(() => {}).finally(done);
  };
  const count = (counts) => {
    let wider = false;
    for (const badge of all("[data-count]")) {
      const n = counts[badge.dataset.count];
      wider ||= badge.hidden && n > 0;
      badge.hidden = !n;
      badge.textContent = n || "";
    }
    const rail = document.querySelector(".rail"), here = rail?.querySelector("[aria-current]");
    if (wider && here) rail.scrollLeft = here.offsetLeft - (rail.clientWidth - here.offsetWidth) / 2;  // on a phone it is a strip
  };
  const heard = (told) => {
    if (told.now) agree(told.now);
    if (told.counts) count(told.counts);
    if (!told.jobs || !(told.jobs.length || told.conversations.length || told.names.length)) return;
    refreshRows(told.jobs).catch(() => {});
    for (const part of all("[data-part]:not([data-every])")) {
      if (!part.dataset.conversation || told.conversations.includes(Number(part.dataset.conversation)) || told.names.includes(part.dataset.name)) refreshPart(part);
    }
  };

  // One stream for all pages of this browser, which has few connections to give: a worker that they share holds it.
  // Where there is none, a page holds its own. A page that nobody can see listens to neither.
  let line = null, port = null, wasLost = false;
  const opened = () => {
    body.classList.add("is-live");
    body.classList.remove("is-lost");
    if (wasLost) everything();
    wasLost = false;
  };
  const lost = () => {
    body.classList.remove("is-live");
    body.classList.add("is-lost");
    wasLost = true;
  };
  const shared = () => {
    if (!port) {
      const worker = new SharedWorker(body.dataset.worker, body.dataset.line);
      worker.onerror = () => { port = null; line = own(); };
      port = worker.port;
      port.onmessage = ({ data }) => { if (data.told) heard(data.told); else if (data.open) opened(); else lost(); };
    }
    const joined = port;
    joined.postMessage({ listen: new URL(body.dataset.live, location.href).href });
    return { close: () => joined.postMessage({}) };
  };
  const own = () => {
    const stream = new EventSource(body.dataset.live);
    stream.onopen = opened;
    stream.onmessage = (event) => heard(JSON.parse(event.data));
    stream.onerror = () => {
      lost();
      if (stream.readyState === EventSource.CLOSED && line) { line = null; setTimeout(listen, 3000); }
    };
    return stream;
  };
  const listen = () => {
    if (line || !body.dataset.live || document.hidden) return;
    line = window.SharedWorker ? shared() : own();
  };
  const deafen = () => { line?.close(); line = null; };
  const everything = () => {
    const list = document.querySelector("[data-rows]");
    if (list) { location.reload(); return; }
    for (const part of all("[data-part]")) refreshPart(part);
  };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { deafen(); wasLost = true; } else { listen(); }
  });
  addEventListener("pagehide", () => { deafen(); wasLost = true; });
  addEventListener("pageshow", listen);

  // ---- keys: j and k walk the rows, the others press what the row offers
  const rows = () => all("[data-row]");
  const current = () => document.activeElement?.closest?.("[data-row]");
  const walk = (step) => {
    const list = rows(), at = list.indexOf(current());
    const next = list[at < 0 ? (step > 0 ? 0 : list.length - 1) : Math.min(Math.max(at + step, 0), list.length - 1)];
    next?.focus();
    next?.scrollIntoView({ block: "nearest" });
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.matches("input, textarea, select");
    if (event.key === "Escape") {
      const form = event.target.closest("[data-editing]");
      if (form) form.querySelector("[data-restore]").click();
      for (const open of all("details[open].again, details[open].me")) open.open = false;
      return;
    }
    if (typing || document.querySelector("dialog[open]")) return;
    if (event.key === "j" || event.key === "k") { walk(event.key === "j" ? 1 : -1); event.preventDefault(); return; }
    if (event.key === "?") { document.getElementById("help")?.showModal(); event.preventDefault(); return; }
    const within = current() || (document.querySelector("[data-rows]") ? null : document);
    const button = within?.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
    if (button) { button.click(); event.preventDefault(); }
  });

  document.addEventListener("click", (event) => {
    const on = (selector) => event.target.closest(selector);
    if (on("[data-help]")) document.getElementById("help").showModal();
    if (on("[data-remove]")) { const row = on("[data-row]"); leave(row); refreshRows([row.id]).catch(() => {}); }
    if (on("[data-restore]")) restore(on("[data-row]"));
    for (const open of all("details[open].again, details[open].me")) if (!open.contains(event.target)) open.open = false;
  });
  const restore = async (row) => {
    const [fresh] = parsed(await get(`/console/window/rows?ids=${row.dataset.job}`));
    if (fresh) { row.replaceWith(fresh); window.htmx && htmx.process(fresh); fresh.focus({ preventScroll: true }); tick(); } else { row.remove(); }
  };

  // ---- work in hand is shown where it was asked for, at once; it is gone with its answer
  const workplace = (from) => from.closest("[data-row]") || from.closest("form, [data-part]") || from;
  const working = (place, on) => { if (on) place.setAttribute("aria-busy", "true"); else place.removeAttribute("aria-busy"); };
  document.addEventListener("htmx:beforeRequest", (event) => working(workplace(event.detail.elt), true));
  document.addEventListener("htmx:afterRequest", (event) => working(workplace(event.detail.elt), false));
  document.addEventListener("htmx:afterRequest", (event) => { if (!event.detail.successful) catchUp(); });
  document.addEventListener("submit", (event) => { if (!event.defaultPrevented && event.target.method !== "dialog") working(workplace(event.target), true); });
  addEventListener("pageshow", (event) => { if (event.persisted) for (const place of all("[aria-busy]")) working(place, false); });

  document.addEventListener("animationend", (event) => {
    if (event.animationName === "leave") leave(event.target.closest("[data-gone]"));
  });
  document.addEventListener("htmx:afterSwap", (event) => {
    tick();
    const field = document.querySelector("[data-editing] textarea");
    if (field && event.detail.requestConfig?.verb === "get") { field.focus(); field.setSelectionRange(field.value.length, field.value.length); }
    catchUp();
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    const row = event.detail.target?.id && document.getElementById(event.detail.target.id);
    if (row?.matches?.("[data-row]") && document.activeElement === body) row.focus({ preventScroll: true });
    for (const toast of all(".toast:not([data-seen])")) { toast.dataset.seen = "1"; setTimeout(() => toast.remove(), 8000); }
  });
  document.addEventListener("htmx:sendError", () => body.classList.add("is-lost"));

  for (const part of all("[data-part][data-every]")) setInterval(() => { if (!document.hidden) refreshPart(part); }, Number(part.dataset.every) * 1000);
  document.querySelector(".rail [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  setInterval(tick, 500);
  tick();
  listen();
})();
