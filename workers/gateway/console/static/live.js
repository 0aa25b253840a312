// One stream of events for all pages of a browser that show the same session and organisation. A browser gives a host
// six connections over HTTP/1.1: a stream for each page would leave none for what the pages ask.
(() => {
  "use strict";
  const RECENT = 15000;  // a page that comes later hears what happened while it was on its way
  const pages = new Set();
  let stream = null, again = 0, counts = null, recent = [];
  const tell = (message) => { for (const page of pages) page.postMessage(message); };
  const close = () => { stream?.close(); stream = null; clearTimeout(again); recent = []; counts = null; };
  const open = (url) => {
    stream = new EventSource(url);
    stream.onopen = () => tell({ open: true });
    stream.onmessage = (event) => {
      const told = JSON.parse(event.data);
      if (told.counts) counts = told.counts;
      recent = recent.filter((one) => one.at > Date.now() - RECENT);
      recent.push({ at: Date.now(), told: { ...told, now: undefined } });
      tell({ told });
    };
    stream.onerror = () => {
      tell({});
      if (stream?.readyState === EventSource.CLOSED) { stream = null; again = setTimeout(() => pages.size && !stream && open(url), 3000); }
    };
  };
  const join = (page, url) => {
    if (pages.has(page)) return;
    pages.add(page);
    if (!stream) { clearTimeout(again); open(url); return; }
    if (stream.readyState !== EventSource.OPEN) return;
    page.postMessage({ open: true });
    for (const one of recent) if (one.at > Date.now() - RECENT) page.postMessage({ told: one.told });
    if (counts) page.postMessage({ told: { counts } });
  };
  const leave = (page) => { if (pages.delete(page) && !pages.size) close(); };
  self.onconnect = ({ ports: [page] }) => {
    page.onmessage = ({ data }) => { if (data.listen) join(page, data.listen); else leave(page); };
  };
})();
