/* SPDX-License-Identifier: MIT
 * What was recorded, what of it was lost or not seen, and the figures of the requests. */

/* ---- the recording ---- */

function commandText() {
	const c = D.recording.command;
	if (Array.isArray(c) && c.length) return c.map(w => clean(w)).join(" ");
	const p = R.processes.find(x => !x.forked) || R.processes[0];
	return p ? clean(p.command || p.exe || "?") : "an empty recording";
}

function when() {
	const real = D.recording.start_realtime;
	if (!real) return null;
	const d = new Date(real / 1e6),
		two = x => String(x).padStart(2, "0");
	return (
		`${d.getUTCFullYear()}-${two(d.getUTCMonth() + 1)}-${two(d.getUTCDate())} ` +
		`${two(d.getUTCHours())}:${two(d.getUTCMinutes())}:${two(d.getUTCSeconds())} UTC`
	);
}

function drawHead() {
	const t = R.tarry,
		r = D.recording,
		words = commandText().split(" ");
	const program = words[0].replace(/^.*\//, "") || words[0];
	document.title = program + (r.host ? " on " + clean(r.host) : "") + " \u2013 tarry";
	document.getElementById("title").append(el("b", {}, program), " " + words.slice(1).join(" "));
	const after = (at, otherwise) => (at === null ? otherwise : ns(Math.max(0, at - t.start_ns)));
	const facts = [
		["Recorded", [when(), r.host ? "on " + clean(r.host) : null].filter(x => x).join(" ")],
		[
			"Lasted",
			ns(Math.max(0, (r.end || t.to_ns) - t.start_ns)) +
				(t.recording ? ", still being recorded" : ""),
		],
		[
			"Seen",
			[
				plural(R.processes.length, "process", "processes"),
				plural(r.threads, "thread"),
				plural(t.events, "event"),
			].join(", "),
		],
		[
			"Machine",
			[r.kernel, r.cpu, r.cores ? plural(r.cores, "core") : null]
				.filter(x => x)
				.map(clean)
				.join(", "),
		],
		["Store", clean(t.store)],
		["Under orders", r.orders ? clean(r.orders) : null],
		["Recorded by", r.tool ? clean(r.tool) : null],
		[
			"Requests",
			Q.where
				? `only those where ${clean(Q.where)}; ${count(Q.left_out)} others are left out`
				: null,
		],
		[
			"Window",
			r.from_ns !== null || r.to_ns !== null
				? `${after(r.from_ns, "the start")} to ${after(r.to_ns, "the end")}, from the start on`
				: null,
		],
	];
	for (const [name, text] of facts)
		if (text)
			document.getElementById("facts").append(
				el("div", {}, el("dt", {}, name), el("dd", {}, text)),
			);
	document.getElementById("made").append(
		`Made by tarry ${D.page.version}. Everything is in this file; it asks nothing of ` +
			"any network. The data are JSON in the element \u201cdata\u201d; docs/JSON.md describes them.",
	);
}

/* ---- truth first ---- */

/* What is missing of call paths: the waits themselves, and their times, are all there. */
const OF_PATHS = new Set([
	"cut",
	"miss",
	"no_stack",
	"path_dropped",
	"path_missed",
	"rows_no_room",
	"stack_dropped",
]);
/* So small a part of the events may lack its call path without a line of its own. */
const FEW_PATHS = 1e-4;

/* Losses that change figures; events that only came late do not. */
function lossRows() {
	const quiet = new Set(["open_waits", "open_ns"]);
	const own = {
		stragglers: "events that reached the store out of order; all were read",
		unknown_thread: "events of threads that were not known yet",
	};
	return Object.entries(R.losses)
		.filter(([k]) => !quiet.has(k))
		.map(([name, n]) => ({ name, n, what: clean(D.loss_words[name] || own[name] || "") }));
}

function coverageSentences() {
	const c = R.coverage.paths,
		u = R.coverage.unseen,
		out = [];
	const due = c.complete + c.cut + c.leaf + c.miss,
		part = x => percent(x / (u.wall_ns || 1));
	if (due)
		out.push(
			`Call paths: ${percent(c.complete / due)} of ${plural(due, "wait")} complete, ` +
				`${percent(c.cut / due)} cut, ` +
				`${percent(c.leaf / due)} caller only, ${percent(c.miss / due)} without unwind rules` +
				(c.not_taken ? `; not taken for ${count(c.not_taken)} short ones.` : "."),
		);
	out.push(
		u.threads
			? `Waiting that could not be seen: ${ns(u.unseen_ns)}, ${part(u.unseen_ns)} of the ` +
					`time of ${plural(u.threads, "thread")} (${part(u.cpu_ns)} on a CPU, ` +
					`${part(u.runq_ns)} waiting for one, ${part(u.waits_ns)} in recorded waits).`
			: "Waiting that could not be seen: not known, no CPU times were sampled.",
	);
	if (R.losses.open_waits)
		out.push(
			`In progress at the end: ${plural(R.losses.open_waits, "wait")}, ` +
				`${ns(R.losses.open_ns)} so far; in no total.`,
		);
	if (WITH_REQUESTS)
		out.push(
			`Requests: ${count(Q.unfinished)} unfinished, ${count(Q.late)} late sends, ` +
				`${count(Q.overlap)} overlapping waits.`,
		);
	return out;
}

function banners() {
	const rows = lossRows().filter(l => l.n > 0 && l.name !== "stragglers"),
		lost = rows.filter(l => !OF_PATHS.has(l.name)),
		paths = rows.filter(l => OF_PATHS.has(l.name)),
		list = l => l.map(x => `${count(x.n)} \u00d7 ${x.what || x.name}`).join("; ");
	const unseen = R.coverage.unseen,
		share = unseen.wall_ns ? unseen.unseen_ns / unseen.wall_ns : 0;
	const warnings = [];
	if (Q.doubt) warnings.push(clean(Q.doubt[0].toUpperCase() + Q.doubt.slice(1)) + ".");
	if (lost.length) warnings.push("Lost: " + list(lost) + ".");
	if (D.recording.state && D.recording.state !== "complete" && !R.tarry.recording)
		warnings.push("The recorder ended early; what it had written is here.");
	if (share > 0.05)
		warnings.push(`${percent(share)} of the threads' time passed in waits that could not be seen.`);
	const few = d3.sum(paths, l => l.n) <= FEW_PATHS * R.tarry.events,
		note = (kind, ...lines) =>
			el(
				"div",
				{ class: "banner " + kind, role: "note" },
				lines.map(l => el("p", {}, l)),
			),
		unseenLink = el("a", { href: "#coverage" }, "What could not be seen"),
		all = [];
	if (warnings.length) all.push(note("warn", ...warnings));
	if (paths.length && (warnings.length || !few))
		all.push(
			note("plain", [
				(warnings.length ? "" : "No wait and no time was lost. ") +
					`Call paths that are not whole: ${list(paths)}; their waits are in all figures. `,
				unseenLink,
			]),
		);
	if (!all.length)
		all.push(
			note("good", [
				(!R.tarry.events
					? "No event was recorded."
					: paths.length
						? `No wait was lost; ${list(paths)}.`
						: "Nothing was lost.") + " ",
				unseenLink,
			]),
		);
	return all;
}

/* ---- summary ---- */

function figure(name, text, title) {
	return el("div", { title: title || null }, el("dt", {}, name), el("dd", {}, text));
}

function drawSummary() {
	const s = section("summary", "Summary");
	s.append(...banners());
	const rule = clean(D.recording.rule_words || Q.rule).replace(/\\u000a/g, " ");
	if (WITH_REQUESTS)
		s.append(
			el(
				"dl",
				{ class: "figures" },
				figure("requests", count(Q.count)),
				figure("mean", ns(Q.mean_ns)),
				figure("standard deviation", ns(Q.sd_ns)),
				figure("median", ns(Q.p50_ns)),
				figure("p95", ns(Q.p95_ns)),
				figure("p99", ns(Q.p99_ns)),
				figure("p99.9", ns(Q.p999_ns)),
				figure("slowest", ns(Q.max_ns)),
			),
		);
	s.append(el("p", { class: "hint" }, "What a request is \u2013 " + rule));
	const factors = D.tree ? D.tree.factors : [];
	if (factors.length)
		s.append(
			el("h3", {}, "What to look at first"),
			el(
				"ol",
				{ class: "factors" },
				factors.map(f =>
					el(
						"li",
						{},
						el("b", {}, percentWithError(f.share, f.share_se)),
						" ",
						el("span", {}, clean(f.sentence)),
					),
				),
			),
			el(
				"p",
				{ class: "hint" },
				"Variance of the time there as a part of that of latency, with standard errors; one function " +
					"may hold another. The shares below are covariances with latency, which " +
					"have half in them of what waits vary together: the two differ where waits " +
					"depend on each other.",
			),
		);
	if (Q.classes.length > 1)
		s.append(
			el("h3", {}, "Classes of requests"),
			table(
				[
					words("class", c => (c.class === null ? "(no class)" : clean(c.class || "(no name)")), { head: true }),
					numbers("requests", c => c.count, count),
					numbers("mean", c => c.mean_ns, ns),
					numbers("sd", c => Math.sqrt(c.var_ns2), ns),
					numbers("p99", c => c.p99_ns, ns),
					numbers("of time", c => c.time_share, percent),
				],
				Q.classes,
				{ name: "Classes of requests", limit: 10 },
			),
			el(
				"p",
				{ class: "hint" },
				`${percent(Q.between_classes_share)} of the variance is between classes.`,
			),
		);
}

/* ---- coverage ---- */

function drawCoverage() {
	const s = section("coverage", "Not seen, or lost", "What this recording cannot tell.");
	s.append(
		el(
			"ul",
			{},
			coverageSentences().map(t => el("li", {}, t)),
		),
	);
	const rows = lossRows(),
		lost = rows.filter(l => l.n > 0);
	const columns = [
		words("counter", l => l.name, { head: true, cell: l => el("code", {}, clean(l.name)) }),
		numbers("events", l => l.n, count),
		words("meaning", l => l.what),
	];
	s.append(
		lost.length
			? table(columns, lost, { caption: "Counters that are not 0" })
			: el("p", {}, "Nothing was lost: all counters of losses are 0."),
	);
	s.append(
		more(
			"All counters of losses",
			table(columns, rows, { name: "All counters of losses", limit: 100 }),
		),
	);
	s.append(
		more(
			"Operations",
			table(
				[
					words("operation", o => clean(o.operation), {
						head: true,
						cell: o => el("code", {}, clean(o.operation)),
					}),
					words("class", o => clean(o.class || ""), { opt: true }),
					numbers("waits", o => o.waits, count),
					numbers("time", o => o.total_ns, ns),
					numbers("calls without waiting", o => o.fast_calls, count),
					numbers("in progress", o => o.open, count, { opt: true }),
				],
				R.operations,
				{ name: "Operations", limit: 40 },
			),
		),
	);
	s.append(
		more(
			"Processes",
			table(
				[
					numbers("pid", p => p.pid, String, { head: true }),
					numbers("parent", p => p.parent_pid, identity),
					numbers("threads", p => p.threads, count),
					numbers("lasted", p => (p.end_ns ? p.end_ns - p.start_ns : null), ns),
					words(
						"end",
						p =>
							p.ended_waiting
								? "ended waiting"
								: p.ended
									? "ended"
									: "running",
						{ opt: true },
					),
					words("command", p => clean(p.command || p.exe || "?")),
				],
				R.processes,
				{ name: "Processes", limit: 20, class: "breaks" },
			),
		),
	);
	const imports = R.coverage.imports;
	if (imports && imports.modules)
		s.append(
			more(
				"Waiting functions that are not wrapped",
				el(
					"ul",
					{ class: "breaks" },
					imports.modules.map(m =>
						el(
							"li",
							{},
							el("code", {}, clean(m.module)),
							": " +
								(m.unwrapped.length
									? m.unwrapped.map(clean).join(", ")
									: "all are wrapped"),
						),
					),
					(imports.unseen || []).map(t => el("li", {}, clean(t))),
				),
			),
		);
}
