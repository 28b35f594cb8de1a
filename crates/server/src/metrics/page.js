"use strict";
// Asks for numbers each second, holds five minutes of them, and draws. What the server says is put
// in as text only, never as markup.

const SPAN_MS = 300000, PERIOD_MS = 1000, LONG_TRANSACTION_MS = 60000;
const byId = (id) => document.getElementById(id);
let columns = {}, samples = [], lists = null, uptime = 0, lostSince = 0;

function make(tag, options = {}, ...children) {
  const isDrawn = tag === "svg" || tag === "path";
  const node = isDrawn ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(options)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

// Numbers as people read them.
function count(n) {
  if (n == null) return "–";
  if (n >= 1e9) return (n / 1e9).toFixed(1) + " G";
  if (n >= 1e6) return (n / 1e6).toFixed(1) + " M";
  if (n >= 1e4) return (n / 1e3).toFixed(1) + " k";
  return Number.isInteger(n) || n >= 100 ? Math.round(n).toLocaleString("en") : n.toFixed(1);
}
function bytes(n) {
  if (n == null) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (n >= 1024 && unit < units.length - 1) { n /= 1024; unit++; }
  return (unit === 0 || n >= 100 ? Math.round(n) : n.toFixed(1)) + " " + units[unit];
}
function micros(us) {
  if (us == null) return "–";
  if (us < 1000) return Math.round(us) + " µs";
  if (us < 1e6) return (us / 1000).toFixed(us < 1e4 ? 1 : 0) + " ms";
  return (us / 1e6).toFixed(us < 1e7 ? 1 : 0) + " s";
}
function span(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 120) return s + " s";
  if (s < 7200) return Math.round(s / 60) + " min";
  if (s < 172800) return Math.round(s / 3600) + " hours";
  return Math.round(s / 86400) + " days";
}
const percent = (n) => n == null ? "–" : n.toFixed(n > 99.9 && n < 100 ? 2 : 1) + " %";
const since = (ms) => lists.now_ms - ms;
const plural = (n, one, many) => n === 1 ? "1 " + one : count(n) + " " + many;
const newest = () => samples[samples.length - 1];

// What a chart takes of a sample and the one before it; null where there is nothing to show.
const col = (name) => columns[name];
const gauge = (at) => (now) => now[at];
const perSecond = (n, now, before) => n < 0 ? null : n * 1000 / Math.max(1, now[col("at_ms")] - before[col("at_ms")]);
const rate = (at) => (now, before) => before ? perSecond(now[at] - before[at], now, before) : null;
const ratio = (above, below, factor) => (now, before) => {
  const n = before ? now[below] - before[below] : 0;
  return n > 0 ? factor * (now[above] - before[above]) / n : null;
};
const where = (isSo, value) => (now, before) => isSo(now) ? value(now, before) : null;
const time = (at) => (now) => now[at] || null;

function charts() {
  const missed = ratio(col("Innodb_buffer_pool_reads"), col("Innodb_buffer_pool_read_requests"), 100);
  const found = (now, before) => { const n = missed(now, before); return n == null ? null : 100 - n; };
  const available = col("Duramen_disk_available_bytes"), size = col("Duramen_disk_bytes");
  const used = (now) => now[size] ? 100 * (1 - now[available] / now[size]) : null;
  const chart = (id, title, show, series, top) => ({ id, title, show, series, top });
  return [
    chart("commits", "Commits a second", count, [
      ["commits", rate(col("Binlog_commits"))], ["rolled back", rate(col("Duramen_transactions_rolled_back"))]]),
    chart("latency", "Commit latency of a group, below", micros, [
      ["half", time(col("commit_p50_us"))], ["99 %", time(col("commit_p99_us"))], ["99.9 %", time(col("commit_p999_us"))]]),
    chart("flush", "Flush of the log", micros, [
      ["mean", time(col("flush_mean_us"))], ["99 % below", time(col("flush_p99_us"))]]),
    chart("group", "Transactions in a group", count, [
      ["mean", ratio(col("Binlog_commits"), col("Binlog_group_commits"), 1)]]),
    chart("questions", "Statements a second", count, [
      ["statements", rate(col("Questions"))], ["slow", rate(col("Slow_queries"))]]),
    chart("threads", "Sessions", count, [
      ["running", gauge(col("Threads_running"))], ["connected", gauge(col("Threads_connected"))]]),
    chart("waiting", "Sessions waiting for rows", count, [
      ["now", gauge(col("Innodb_row_lock_current_waits"))], ["waits a second", rate(col("Innodb_row_lock_waits"))]]),
    chart("locks", "Row locks held", count, [["locks", gauge(col("Duramen_row_locks"))]]),
    chart("log", "Log written a second", bytes, [["log", rate(col("Binlog_bytes_written"))]]),
    chart("distance", "Log that a restart replays", bytes, [["bytes", gauge(col("Duramen_recovery_distance_bytes"))]]),
    chart("memtables", "Memtables", bytes, [["bytes", gauge(col("Duramen_store_memtable_bytes"))]]),
    chart("cache", "Blocks found in the cache", percent, [["found", found]], 100),
    chart("compaction", "Read by compactions a second", bytes, [["bytes", rate(col("Duramen_store_compacted_bytes"))]]),
    chart("lag", "Seconds after the source", count, [["seconds", where(() => lists.channels.length, gauge(col("Duramen_replica_lag_seconds")))]]),
    chart("unsent", "Log not yet sent to replicas", bytes, [["most", where((now) => now[col("Duramen_replicas")], gauge(col("Duramen_replica_unsent_bytes")))]]),
    chart("disk", "Disk in use", percent, [["used", used]], 100),
  ];
}

const cards = new Map();
function card(chart) {
  if (cards.has(chart.id)) return cards.get(chart.id);
  const made = { now: make("div", { class: "now" }), top: make("span"), area: make("path", { class: "area" }) };
  made.plot = make("svg", { class: "plot", viewBox: "0 0 300 60", preserveAspectRatio: "none", role: "img" }, made.area);
  made.paths = chart.series.map((_, i) => make("path", { class: "s" + i }));
  made.plot.append(...made.paths);
  const scale = make("div", { class: "scale" }, make("span", {}, "−5 min"), made.top);
  byId("charts").append(
    make("div", { class: "card", id: "chart-" + chart.id }, make("h3", {}, chart.title), made.now, made.plot, scale));
  cards.set(chart.id, made);
  return made;
}

// Pieces of a line, without what is unknown. A piece of one point is a dot.
function pieces(points) {
  const all = [[]];
  for (const point of points) {
    if (point[1] == null) all.push([]);
    else all[all.length - 1].push(point);
  }
  return all.filter((piece) => piece.length > 0);
}

function draw(chart) {
  const parts = card(chart), at = col("at_ms"), end = samples.length ? newest()[at] : 0;
  const x = (sample) => 300 - (end - sample[at]) * 300 / SPAN_MS;
  const series = chart.series.map(([, value]) => samples.map((now, i) => [x(now), value(now, samples[i - 1])]));
  const highest = Math.max(0, ...series.flat().map(([, y]) => y ?? 0));
  const top = chart.top || highest || 1;
  const text = (piece) => "M" + piece.map(([x, y]) => `${x.toFixed(1)} ${(58 - 54 * y / top).toFixed(1)}`).join("L");
  const under = (piece) => `${text(piece)}L${piece[piece.length - 1][0].toFixed(1)} 60L${piece[0][0].toFixed(1)} 60Z`;
  series.forEach((points, i) => parts.paths[i].setAttribute("d", pieces(points).map((piece) => text(piece) + "h0").join("")));
  parts.area.setAttribute("d", pieces(series[0]).map(under).join(""));
  const last = series.map((points) => points.length ? points[points.length - 1][1] : null);
  const spans = chart.series.map(([name], i) => make("span", { class: "more t" + i }, name + " " + chart.show(last[i])));
  spans[0] = make("span", { class: "value t0" }, chart.show(last[0]));
  if (spans.length > 1) spans.splice(1, 0, make("span", { class: "more t0" }, chart.series[0][0]));
  parts.now.replaceChildren(...spans);
  const isKnown = series.some((points) => points.some(([, y]) => y != null));
  const most = isKnown ? "max " + chart.show(highest) : "nothing to show";
  parts.top.textContent = most;
  parts.plot.setAttribute("aria-label", `${chart.title}: now ${chart.show(last[0])}, ${most} in five minutes`);
}

function table(id, heads, rows, empty) {
  if (rows.length === 0) {
    byId(id).replaceChildren(make("p", { class: "empty" }, empty));
    return;
  }
  const head = heads.map(([name, kind]) => make("th", { scope: "col", class: kind || "" }, name));
  const cell = (value, i) => make(
    "td", { class: heads[i][1] || "", "data-label": heads[i][0] }, value == null || value === "" ? "–" : value);
  const body = rows.map((cells) => make("tr", {}, ...cells.map(cell)));
  const made = make(
    "table", { "aria-labelledby": id + "-title" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...body));
  byId(id).replaceChildren(make("div", { class: "table" }, made));
}

const code = (text) => text == null ? null : make("code", {}, text);
const hot = (text, isHot) => isHot ? make("span", { class: "hot" }, text) : text;

function drawLists() {
  const age = (ms, limit) => ms == null ? null : hot(span(since(ms) / 1000), since(ms) > limit);
  table(
    "waits",
    [["session", "n"], ["waits for session", "n"], ["since", "n"], ["for a"], ["of", "wide"], ["statement", "wide"]],
    lists.waits.map((w) => [
      w.session, w.blockers.join(", "), age(w.since_ms, 1000), w.lock, w.target, code(w.statement)]),
    "No session waits for a lock.");
  table(
    "transactions",
    [["session", "n"], ["open for", "n"], ["rows changed", "n"], ["tables", "n"], ["user"], ["runs", "wide"]],
    lists.transactions.map((t) => [
      t.session, age(t.since_ms, LONG_TRANSACTION_MS), count(t.rows_changed), String(t.tables), t.user,
      t.statement == null ? "nothing: waits for its client" : code(t.statement)]),
    "No transaction is open.");
  byId("statements-span").textContent = lists.statements.length ? "in the last " + span(lists.statements_seconds) : "";
  const all = lists.statements.reduce((sum, s) => sum + s.time_us, 0) || 1;
  table(
    "statements",
    [["statement", "wide"], ["database"], ["times", "n"], ["time", "n"], ["share", "n"], ["mean", "n"],
      ["95 % below", "n"], ["longest", "n"], ["rows read", "n"], ["errors", "n"]],
    lists.statements.map((s) => [
      s.text == null ? "all that had no room in the table" : code(s.text), s.schema, count(s.count), micros(s.time_us),
      percent(100 * s.time_us / all), micros(s.time_us / s.count), micros(s.p95_us), micros(s.most_us),
      count(s.rows_examined), hot(count(s.errors), s.errors > 0)]),
    lists.statements_counted ? "No statement has ended yet."
      : "Statements are not counted: performance_schema_digests_size is 0.");
  table(
    "followers",
    [["server id", "n"], ["host"], ["not sent yet", "n"], ["sent up to"], ["UUID", "wide"]],
    lists.followers.map((f) => [
      f.server_id ? String(f.server_id) : "no replica", f.host, f.unsent_bytes == null ? null : bytes(f.unsent_bytes),
      f.sent, f.uuid]),
    "Nobody reads the log.");
  table(
    "channels",
    [["channel"], ["source", "wide"], ["receives"], ["applies"], ["lag", "n"], ["to be applied", "n"], ["last error", "n"]],
    lists.channels.map((c) => [
      c.name || "(default)", c.source, hot(c.receiver, c.receiver !== "Yes"), hot(c.applier, c.applier !== "Yes"),
      c.lag_seconds == null ? "unknown" : hot(span(c.lag_seconds), c.lag_seconds > 30), bytes(c.queued_bytes),
      c.error ? hot(String(c.error), true) : "none"]),
    "This server follows no source.");
}

function fill(title, value, most, text) {
  const share = most ? Math.min(1, value / most) : 0;
  const bar = make("progress", { max: "1", value: share.toFixed(4), "aria-label": title, class: share > 0.9 ? "full" : "" });
  return make("div", { class: "card" }, make("h3", {}, title), bar, make("p", {}, text));
}
const note = (title, text) => make("div", { class: "card" }, make("h3", {}, title), make("p", {}, text));

function diskText(free, size) {
  const full = lists.disk_full_in_seconds;
  if (!size) return "The system does not say.";
  const left = `${bytes(free)} of ${bytes(size)} left; `;
  if (full == null) return left + (samples.length < 60 ? "whether it fills is known after a minute" : "it does not fill");
  return left + (full > 8640000 ? "full in more than 100 days" : `full in ${span(full)} if it goes on like this`);
}

function drawStore() {
  const e = lists.engine, last = newest();
  const size = last ? last[col("Duramen_disk_bytes")] : 0, free = last ? last[col("Duramen_disk_available_bytes")] : 0;
  const levels = e.levels.map((n, level) => n ? `; level ${level}: ${n}` : "").join("");
  const replay = `${bytes(e.recovery_distance_bytes)} of log would be replayed, of ${bytes(e.recovery_distance_max)} at most`;
  byId("store").replaceChildren(
    fill("Disk", size - free, size, diskText(free, size)),
    fill("Checkpoint distance", e.recovery_distance_bytes, e.recovery_distance_max, replay),
    fill("Memtables that wait to be written", e.memtables_frozen, e.memtables_max,
      `${e.memtables_frozen} of ${e.memtables_max} at most; ${bytes(e.memtable_bytes)} in all memtables`),
    note("Block cache", `${bytes(e.cache_bytes)} of ${bytes(e.buffer_pool_size)} are taken`),
    note("Tables on disk", bytes(e.table_bytes) + (levels || "; none yet")),
    note("Log", `${bytes(e.log_file_bytes)} in ${plural(e.log_files, "file", "files")}; durable up to ${e.durable_position}`));
}

// What grew in the last minute.
function grown(at) {
  const end = samples.length ? newest()[col("at_ms")] : 0;
  const first = samples.find((sample) => sample[col("at_ms")] >= end - 60000);
  return first ? newest()[at] - first[at] : 0;
}

function waitsText(waits) {
  const longest = Math.max(0, ...waits.map((w) => w.since_ms == null ? 0 : since(w.since_ms)));
  const waiting = new Set(waits.map((w) => w.session));
  const first = [...new Set(waits.flatMap((w) => w.blockers))].filter((b) => !waiting.has(b));
  return plural(waits.length, "session waits", "sessions wait") + " for locks"
    + (longest ? `, the longest for ${span(longest / 1000)}` : "")
    + (first.length ? `; in front of them is session ${first.join(", ")}.` : ".");
}

function findings() {
  const found = [], e = lists.engine, last = newest(), full = lists.disk_full_in_seconds;
  const say = (kind, text) => found.push([kind, text]);
  if (e.log_failure) say("bad", "The log takes no more commits: " + e.log_failure);
  if (e.store_failure) say("bad", "Writing tables failed and is tried again: " + e.store_failure);
  if (full != null && full < 86400) say(full < 7200 ? "bad" : "warn", `The disk is full in ${span(full)} if it goes on like this.`);
  if (last) {
    const free = last[col("Duramen_disk_available_bytes")], size = last[col("Duramen_disk_bytes")];
    if (free < size / 20) say("bad", `Only ${bytes(free)} of the disk are left.`);
    const connected = last[col("Threads_connected")], most = lists.server.max_connections;
    if (connected > 0.9 * most) say("warn", `${connected} of ${most} connections (max_connections) are taken.`);
    const stopped = grown(col("Duramen_store_writes_stopped")), slowed = grown(col("Duramen_store_writes_slowed"));
    if (stopped > 0) say("bad", `In the last minute writers had to wait ${plural(stopped, "time", "times")} for tables to be written: the disk does not keep up.`);
    else if (slowed > 0) say("warn", `In the last minute writers were slowed down ${plural(slowed, "time", "times")}, to let tables be written.`);
    const late = grown(col("Duramen_log_slow_groups")), refused = grown(col("Duramen_log_refused"));
    if (late > 0) say("warn", `In the last minute ${plural(late, "group", "groups")} of commits took duramen_slow_commit_time or longer; the error log has the step.`);
    if (refused > 0) say("bad", `In the last minute the log refused ${plural(refused, "transaction", "transactions")}.`);
  }
  const waits = lists.waits.filter((w) => w.since_ms == null || since(w.since_ms) > 1000);
  if (waits.length) say("warn", waitsText(waits));
  const oldest = lists.transactions[0];
  if (oldest && since(oldest.since_ms) > LONG_TRANSACTION_MS) say("warn", `Session ${oldest.session} (${oldest.user}) has had a transaction open for ${span(since(oldest.since_ms) / 1000)}.`);
  for (const c of lists.channels) {
    const name = (c.name ? `channel '${c.name}'` : "the channel") + ` from ${c.source}`;
    if (c.is_stopped) say("bad", `Replication: ${name} does not run${c.error ? ", last error " + c.error : ""}; see SHOW REPLICA STATUS.`);
    else if (c.lag_seconds > 30) say("warn", `Replication: ${name} is ${span(c.lag_seconds)} late.`);
  }
  const unsent = Math.max(0, ...lists.followers.map((f) => f.unsent_bytes || 0));
  if (unsent > 64 * 1048576) say("warn", `A reader of the log has yet to be sent ${bytes(unsent)}.`);
  return found.length ? found : [["quiet", "Nothing."]];
}

let shownFindings = "";
function drawFindings() {
  const found = findings(), texts = JSON.stringify(found);
  if (shownFindings === texts) return;
  shownFindings = texts;
  byId("attention").replaceChildren(...found.map(([kind, text]) => make("li", { class: kind }, text)));
}

// False if another server answers, or this one started again: all is asked for anew.
function take(answer) {
  if (answer.server.uptime_seconds < uptime) {
    samples = [];
    uptime = 0;
    return false;
  }
  columns = Object.fromEntries(answer.columns.map((name, at) => [name, at]));
  uptime = answer.server.uptime_seconds;
  lists = answer;
  const last = samples.length ? newest()[col("number")] : 0;
  samples.push(...answer.samples.filter((sample) => sample[col("number")] > last));
  const end = samples.length ? newest()[col("at_ms")] : 0;
  samples = samples.filter((sample) => sample[col("at_ms")] >= end - SPAN_MS);
  return true;
}

function show() {
  const s = lists.server;
  byId("server").textContent = `${s.host}:${s.port} · ${s.version} · up ${span(s.uptime_seconds)}`;
  document.title = `${s.host}:${s.port} · Duramen`;
  charts().forEach(draw);
  drawLists();
  drawStore();
  drawFindings();
}

function state(kind, text) {
  const node = byId("state");
  if (node.textContent !== text) node.textContent = text;
  node.className = kind;
  document.body.classList.toggle("stale", kind === "lost");
}

async function ask() {
  const last = samples.length ? newest()[col("number")] : 0;
  const stop = new AbortController(), timer = setTimeout(() => stop.abort(), 5000);
  let answer = null;
  try {
    const response = await fetch("status.json?after=" + last, { signal: stop.signal, cache: "no-store" });
    if (!response.ok) { state("lost", `refused (${response.status})`); return; }
    answer = await response.json();
  } catch {
    lostSince = lostSince || Date.now();
    state("lost", `no answer for ${span((Date.now() - lostSince) / 1000)}`);
    return;
  } finally {
    clearTimeout(timer);
  }
  lostSince = 0;
  try {
    if (take(answer)) { show(); state("live", "live"); }
  } catch (error) {
    state("lost", "this page has a fault: " + error.message);
  }
}

async function run() {
  if (!document.hidden) await ask();
  setTimeout(run, PERIOD_MS);
}
run();
