// SPDX-License-Identifier: MIT
// usage: stores.js FOLDER
const fs = require("fs"),
	path = require("path");
const { check, open, print, run, unfold, sideways } = require("./browser.js");
const folder = process.argv[2];

const parts = page => page.locator("main section").evaluateAll(l => l.map(s => s.id));

async function look(name, act) {
	const b = await open(path.join(folder, name + ".html"));
	await unfold(b.page);
	await act(b.page, JSON.parse(await b.page.locator("#data").textContent()));
	check(
		!/NaN|undefined|Infinity|\[object/.test(await b.page.locator("body").innerText()),
		`${name}: every figure is one`,
		(await b.page.locator("body").innerText()).match(/.*(NaN|undefined|Infinity|\[object).*/g),
	);
	const broken = await b.page.evaluate(() =>
		[...document.querySelectorAll("svg *")]
			.filter(e => [...e.attributes].some(a => /NaN|undefined|Infinity/.test(a.value)))
			.map(e => e.outerHTML.slice(0, 100)),
	);
	check(broken.length === 0, `${name}: every drawing has numbers`, broken.slice(0, 3));
	await b.page.setViewportSize({ width: 390, height: 800 });
	check((await sideways(b.page)) <= 0, `${name}: fits a phone`);
	await print(b.page);
	check(b.complaints.length === 0, `${name}: no complaint`, b.complaints);
	await b.close();
}

// NAME's page as it would be with other losses: what the first lines say of them.
async function losing(name, losses, see) {
	const page = fs.readFileSync(path.join(folder, name + ".html"), "utf8"),
		from = page.indexOf(">", page.indexOf('id="data"')) + 1,
		to = page.indexOf("</script>", from),
		data = JSON.parse(page.slice(from, to));
	for (const k in data.report.losses)
		if (k !== "open_waits" && k !== "open_ns") data.report.losses[k] = losses[k] || 0;
	fs.writeFileSync(
		path.join(folder, "losing.html"),
		page.slice(0, from) + JSON.stringify(data).replace(/</g, "\\u003c") + page.slice(to),
	);
	await look("losing", async p =>
		see({
			warn: (await p.locator("#summary .banner.warn").allInnerTexts()).join(" "),
			plain: (await p.locator("#summary .banner.plain").allInnerTexts()).join(" "),
			good: (await p.locator("#summary .banner.good").allInnerTexts()).join(" "),
		}),
	);
}

// No name became anything but text.
async function hostile(page, data) {
	check((await page.evaluate(() => window.hacked)) === undefined, "no script of a name ran");
	const strange = await page.evaluate(() =>
		[
			...document.querySelectorAll(
				"img, iframe, object, embed, link, base, form, main b > *, main i > *",
			),
		].map(e => e.outerHTML.slice(0, 80)),
	);
	check(strange.length === 0, "no element of a name", strange);
	check(
		(await page.locator("script").count()) === 3 && (await page.locator("head title").count()) === 1,
		"only the page's own scripts",
	);
	const text = await page.locator("body").innerText(),
		names = data.report.sites.map(s => s.function);
	for (const name of [
		"</script><script>window.hacked=1</script>",
		"<img src=x onerror=window.hacked=2>",
		"<!--<script>",
		"]]>&lt;b&gt;\"'`${window.hacked=",
		"<svg onload=window.hacked=5>&amp;\"'.dat",
		"</title><script>window.hacked=6</script>",
		"__proto__ constructor",
		"\\u202eright to left\\u202c",
		"\\u001b[31m",
	])
		check(text.includes(name), `shown as it is: ${name}`);
	check(names.includes("</script><script>window.hacked=1</script>"), "in the data, too", names);
	check(
		data.report.requests.classes.some(c => c.class.startsWith("\u202eright")),
		"whole",
	);
	check(
		data.report.requests.classes.some(c => /^not UTF-8: \?+$/.test(c.class)),
		"what is no text has ? for it",
	);
	check(
		!/[\u0000-\u0008\u000e-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/.test(text),
		"nothing unseen",
	);
	check((await page.title()).startsWith("<b>hostile"), "the title", await page.title());
	for (const find of ["</script>", "onerror"]) {
		await page.locator("#sites input[type=search]").fill(find);
		check((await page.locator("#sites tbody tr.opens").count()) > 0, `search finds ${find}`);
	}
	await page.locator("#sites input[type=search]").fill("");
	await page.locator("#sites button.expand").first().click();
	for (const chart of [
		"#heat canvas",
		"#scatter canvas",
		"#blame rect.cell[tabindex]",
		"#tree g.node rect",
	]) {
		await page.locator(chart).first().hover();
		check((await page.evaluate(() => window.hacked)) === undefined, `nor in the tip of ${chart}`);
	}
}

run(async () => {
	await look("nothing", async (page, data) => {
		check(data.report.sites.length === 0 || data.report.requests.count === 0, "nothing: no request");
		check(
			(await parts(page)).join() === "summary,sites,blame,coverage",
			"nothing: parts",
			await parts(page),
		);
	});
	await look("sleep", async (page, data) => {
		check(
			data.report.sites.length > 0 &&
				(await page.locator("#sites tbody tr.opens").count()) === data.report.sites.length,
			"sleep: its sites",
		);
		check(
			(await page.locator("#sites").innerText()).includes("no requests"),
			"sleep: says that there are no requests",
		);
		check((await page.locator("#blame rect.cell[tabindex]").count()) > 0, "sleep: blame by time");
	});
	await look("none", async (page, data) => {
		check(
			data.report.requests.rule === "none" && !data.sample && !data.tree && !data.tail,
			"none: no data about requests",
		);
		check(!(await page.locator("#sites thead").innerText()).includes("share"), "none: no shares");
	});
	await look("one", async (page, data) => {
		check(data.report.requests.count === 1 && data.sample.rank.length === 1, "one request");
		check(
			(await page.locator("#summary .banner.warn").innerText()).includes("Only 1 request"),
			"one: doubted",
		);
		check((await page.locator("#slowest details.request").count()) === 1, "one: its timeline");
	});
	await look("few", async (page, data) => {
		check(data.sample.rank.length === 10 && data.sample.slowest === 10, "few: all are there");
		check((await page.locator("#heat").innerText()).includes("All 10 requests"), "few: no sample");
	});
	await losing("one", { cut: 12345, no_stack: 1 }, b => {
		check(!b.warn.includes("Lost") && !b.plain.includes("Lost"), "cut paths: nothing is lost", b);
		check(
			b.plain.includes("12\u202f345") && b.plain.includes("their waits are in all figures"),
			"cut paths: a notice",
			b,
		);
	});
	await losing("one", { cut: 12345, ring_full: 7 }, b => {
		check(/Lost: 7 /.test(b.warn) && !/345/.test(b.warn), "lost records: a warning, of them alone", b);
		check(/345/.test(b.plain) && !b.plain.includes("No wait"), "and a notice about paths", b);
	});
	await losing("one", {}, b => check(!b.plain, "no notice without a reason", b));
	await look("where", async page =>
		check((await page.locator("#facts").innerText()).includes("latency>1us"), "where: says so"),
	);
	await look("hostile", hostile);
});
