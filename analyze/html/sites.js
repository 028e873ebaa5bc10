/* SPDX-License-Identifier: MIT
 * The wait sites: the report's table, with call paths. */

/* A share as a bar with its error, all on one scale. */
function shareBar(share, se, most) {
	if (share === null) return el("span", {}, "\u2013");
	const at = x => Math.max(0, Math.min(1, x / most)) * 100 + "%";
	const bar = el("span", { class: "bar" + (share < 0 ? " negative" : "") }),
		fill = el("i"),
		whisker = el("u");
	fill.style.width = at(Math.abs(share));
	bar.append(fill);
	if (se) {
		whisker.style.left = at(Math.abs(share) - se);
		whisker.style.width =
			Math.max(
				0,
				Math.min(1, (Math.abs(share) + se) / most) -
					Math.max(0, (Math.abs(share) - se) / most),
			) *
				100 +
			"%";
		bar.append(whisker);
	}
	return el(
		"span",
		{ class: "share" },
		bar,
		el("span", {}, percent(share), el("small", {}, se === null ? "" : "\u00b1\u00a0" + percent(se))),
	);
}

function shareColumn(most) {
	return {
		label: "share",
		number: true,
		value: x => x.share,
		cell: x => shareBar(x.share, x.share_se, most),
	};
}

function mostShare(list) {
	return Math.max(0.01, ...list.map(x => Math.abs(x.share || 0) + (x.share_se || 0)));
}

function whereCell(s) {
	/* an address says nothing here; the opened row has it */
	const named = s.object && !/^0x[0-9a-f]+$/.test(s.object);
	const on = named
		? el("span", { class: "object", title: clean(s.object) }, "on " + shorten(clean(s.object), 60))
		: null;
	const outside =
		WITH_REQUESTS && !s.waits
			? el(
					"span",
					{ class: "object" },
					`outside requests: ${plural(s.waits_all, "wait")}, ${ns(s.total_all_ns)}`,
				)
			: null;
	const words = clean(D.apart_words[s.id] || "");
	return el(
		"span",
		{ class: "where" },
		el("b", {}, siteFunction(s)),
		" ",
		el("code", {}, clean(s.operation)),
		" ",
		el(
			"span",
			{ class: "hint" },
			siteLine(s),
			shorten(words === " at " + siteLine(s) ? "" : words, 43),
		),
		on,
		outside,
	);
}

function pathList(s) {
	const kinds = {
		cut: "cut here: code without unwind rules, or too deep",
		leaf: "only the caller: the stack\u2019s bounds are not known",
		miss: "cut here: the unwind rules came too late",
		not_taken: "path not taken: shorter than min_path",
	};
	const frame = f =>
		el(
			"li",
			{ class: f.inlined ? "inlined" : "" },
			el("code", {}, f.function ? clean(f.function) : clean(f.module || "?") + "+" + f.offset),
			" ",
			el(
				"span",
				{ class: "hint" },
				f.file
					? clean(f.file) + (f.line ? ":" + f.line : "")
					: f.function && f.module
						? clean(f.module)
						: "",
				f.inlined ? " (inlined)" : "",
			),
		);
	return el(
		"div",
		{ class: "path" },
		el("h4", {}, "Call path, from the wait outwards"),
		el(
			"ol",
			{},
			s.path.map(frame),
			kinds[s.path_kind] ? el("li", { class: "hint" }, kinds[s.path_kind]) : null,
		),
	);
}

function allFigures(s) {
	const f = [
		["share", percentWithError(s.share, s.share_se)],
		["where", siteLine(s) || null],
		["tail share", percent(s.tail_share)],
		["time a request", ns(s.per_request_ns)],
		["waits a request", decimal(s.waits_per_request)],
		["waits", count(s.waits)],
		["total", ns(s.total_ns)],
		["mean wait", ns(s.mean_ns)],
		["sd", ns(s.sd_ns)],
		["p99", ns(s.p99_ns)],
		["longest", ns(s.max_ns)],
		["all waits, also outside requests", count(s.waits_all)],
		["their time", ns(s.total_all_ns)],
		["waits for", s.object ? clean(s.object) : null],
		["id", s.id],
	];
	return el(
		"dl",
		{ class: "all" },
		f
			.filter(([, v]) => v !== null && v !== "\u2013")
			.map(([k, v]) => el("div", {}, el("dt", {}, k), el("dd", {}, v))),
	);
}

function siteText(s) {
	return [s.function, s.operation, s.object, s.id, ...s.path.flatMap(f => [f.function, f.module, f.file])]
		.filter(x => x)
		.join("\n")
		.toLowerCase();
}

function restRow(columns, name, what, r) {
	const cells = {
		where: el("span", { class: "where" }, el("b", {}, name), " ", el("span", { class: "hint" }, what)),
		share: shareBar(r.share, r.share_se, mostShare(R.sites)),
		"\u00b1": percent(r.share_se),
		tail: percent(r.tail_share),
		"time/req": ns(r.mean_ns),
		total: r.total_ns === undefined ? "" : ns(r.total_ns),
	};
	return columns.map(c => cells[c.label] || "");
}

function siteColumns() {
	const most = mostShare(R.sites);
	/* no figure of requests for what waited only outside of them */
	const of = (s, x) => (WITH_REQUESTS && !s.waits ? null : x);
	const number = (label, key, show, opt, title) => numbers(label, s => of(s, s[key]), show, { opt, title });
	return [
		numbers("#", s => s.rank, String, { opt: true }),
		words("where", s => siteFunction(s).toLowerCase(), { head: true, cell: whereCell }),
		...(WITH_REQUESTS
			? [
					{
						label: "share",
						number: true,
						title: "part of the variance of latency",
						value: s => of(s, s.share),
						cell: s => shareBar(of(s, s.share), s.share_se, most),
					},
					number("\u00b1", "share_se", percent, true, "standard error of the share"),
					number(
						"tail",
						"tail_share",
						percent,
						true,
						`the same among requests above p${Q.tail_quantile * 100}`,
					),
					number(
						"time/req",
						"per_request_ns",
						ns,
						false,
						"mean time of a request here",
					),
					number(
						"waits/req",
						"waits_per_request",
						decimal,
						true,
						"mean number of waits of a request here",
					),
				]
			: []),
		number("waits", "waits", count, true),
		number("total", "total_ns", ns, WITH_REQUESTS),
		number("mean", "mean_ns", ns, true),
		number("sd", "sd_ns", ns, true),
		number("p99", "p99_ns", ns, true),
		number("longest", "max_ns", ns, true),
	];
}

function drawSites() {
	const s = section(
		"sites",
		"Wait sites",
		WITH_REQUESTS
			? "Ranked by their share of the variance of latency. All shares and running add up to " +
					"100\u00a0%; a negative one evens out."
			: "There are no requests, so nothing says whose latency these waits are: ranked by time.",
	);
	const columns = siteColumns(),
		foot = [];
	if (WITH_REQUESTS) {
		foot.push(
			restRow(
				columns,
				"running",
				"on a CPU, waiting for one, or waiting where it cannot be seen",
				R.running,
			),
		);
		if (R.held_up.total_ns)
			foot.push(
				restRow(
					columns,
					"held up",
					"open while its thread worked on another request",
					R.held_up,
				),
			);
	}
	const left = D.sites_left;
	if (left.sites)
		foot.push(
			restRow(
				columns,
				`${plural(left.sites, "more site")}`,
				`not listed in this page; ${plural(left.waits, "wait")}. tarry report --json has them`,
				Object.assign({ share_se: null }, left),
			),
		);
	if (!R.sites.length) {
		s.append(el("p", {}, "No wait was recorded."));
		return;
	}
	const t = table(columns, R.sites, {
		name: "Wait sites",
		limit: 20,
		text: siteText,
		foot,
		class: "sites",
		expand: site => el("div", { class: "two" }, pathList(site), allFigures(site)),
	});
	s.append(
		el(
			"div",
			{ class: "controls" },
			search("function, file, module, operation or object", text => t.find(text)),
		),
		t,
	);
	s.append(
		el(
			"p",
			{ class: "hint" },
			"A row opens to its call path and all figures. " +
				(WITH_REQUESTS
					? "Bars carry their standard error. Tail: the same question among requests " +
						`from ${ns(Q.tail_from_ns)} on (p${Q.tail_quantile * 100}). `
					: "") +
				"p99 is within 1/128.",
		),
	);
}
