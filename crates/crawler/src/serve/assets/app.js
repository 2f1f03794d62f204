// What pages do by themselves: the overview follows a running crawl, and loads again while figures are being counted.
(() => {
  "use strict";
  const live = document.getElementById("live");
  if (!live) return;

  const number = (value) => String(value).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
  const size = (bytes) => {
    const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;
    for (; bytes >= 1024 && unit < units.length - 1; unit++) bytes /= 1024;
    return unit === 0 ? bytes + " " + units[0] : bytes.toFixed(1) + " " + units[unit];
  };
  const forms = {
    "totals.bytes": size,
    "pages_per_second": (rate) => rate.toFixed(1),
    "state": (state) => state.replaceAll("_", " "),
    "eta": (eta) => eta,
  };

  const fill = (status) => {
    for (const place of live.querySelectorAll("[data-live]")) {
      const key = place.dataset.live;
      const value = key.split(".").reduce((of, name) => (of === undefined || of === null ? undefined : of[name]), status);
      if (value === undefined || value === null) continue;
      const text = (forms[key] || number)(value);
      if (place.textContent !== text) place.textContent = text;
    }
    const state = live.querySelector("[data-state]");
    if (state && state.dataset.state !== status.state) {
      state.dataset.state = status.state;
      document.getElementById("announce").textContent = "The crawl is " + forms.state(status.state);
    }
    const waiting = document.getElementById("waiting");
    const awaited = waiting ? JSON.parse(waiting.dataset.words) : {};
    rows("waiting", Object.entries(status.waiting || {}), ([why, hosts]) => [awaited[why] || why, [number(hosts)]]);
    rows("longest", status.longest || [], (host) => [
      { text: host.host, href: "/host?host=" + encodeURIComponent(host.host) },
      [number(host.queued)],
      [host.next_s.toFixed(1)],
      host.why,
    ]);
    cluster(status);
  };

  // Of a crawl on many machines.
  const cluster = (status) => {
    rows("workers", status.workers || [], (worker) => [
      worker.id + " (" + worker.name + ")",
      [number(worker.partitions)],
      [number(worker.queued)],
      [number(worker.in_flight)],
    ]);
    rows("partitions", status.longest_partitions || [], (part) => [
      String(part.partition),
      part.worker === null ? "none" : String(part.worker),
      [number(part.queued)],
      [number(part.in_flight)],
      [number(part.letters)],
    ]);
  };

  // Cells are made of text alone: nothing from the web is read as HTML.
  const rows = (id, list, cells) => {
    const body = document.getElementById(id);
    if (!body || body.contains(document.activeElement)) return;
    body.replaceChildren(...list.map((item) => {
      const row = document.createElement("tr");
      for (const cell of cells(item)) {
        const place = document.createElement("td");
        if (Array.isArray(cell)) {
          place.className = "number";
          place.textContent = cell[0];
        } else if (typeof cell === "object") {
          const link = document.createElement("a");
          link.className = "url";
          link.href = cell.href;
          link.textContent = cell.text;
          place.append(link);
        } else {
          place.textContent = cell;
        }
        row.append(place);
      }
      return row;
    }));
  };

  const again = (time) => setTimeout(() => location.reload(), time);
  if (live.dataset.reload) again(Number(live.dataset.reload));
  if (!live.dataset.events) return;

  // The figures that are counted now and then: the page's own HTML, as the server makes it.
  const recount = async () => {
    const old = document.getElementById("counted");
    if (old.contains(document.activeElement) || old.querySelector("details[open]")) return;
    try {
      const answer = await fetch("/");
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.getElementById("counted");
      if (fresh) old.replaceWith(document.adoptNode(fresh));
    } catch {
      // They stay as they are until the next time.
    }
  };

  const ask = async () => {
    try {
      const answer = await fetch("/api/v1/status");
      if (answer.ok) fill(await answer.json());
    } catch {
      // The server may be back at the next time.
    }
    setTimeout(ask, 5000);
  };
  const events = new EventSource(live.dataset.events);
  events.addEventListener("status", (event) => {
    const status = JSON.parse(event.data);
    if (status.state === "ended") {
      events.close();
      again(1500);
      return;
    }
    fill(status);
  });
  events.addEventListener("figures", recount);
  events.onerror = () => {
    // The server has no more streams: ask from time to time.
    if (events.readyState === EventSource.CLOSED) ask();
  };
})();
