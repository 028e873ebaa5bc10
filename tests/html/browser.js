// SPDX-License-Identifier: MIT
// What the page tests share: a headless Chromium with a folder of its own that may
// fetch nothing, and checks.
const fs = require("fs"),
	os = require("os"),
	path = require("path");
const { chromium } = require("playwright-core");

let failed = 0;

exports.check = (ok, what, why) => {
	console.log((ok ? "ok   " : "FAIL ") + what + (ok || why === undefined ? "" : ": " + JSON.stringify(why)));
	failed += !ok;
};

// Opens FILE; complaints: everything that a page must not do.
exports.open = async (file, options) => {
	const folder = fs.mkdtempSync(path.join(os.tmpdir(), "tarry-browser."));
	const context = await chromium.launchPersistentContext(
		folder,
		Object.assign(
			{
				executablePath: process.env.CHROMIUM,
				headless: true,
				viewport: { width: 1280, height: 900 },
				args: [
					"--no-sandbox",
					"--disable-gpu",
					"--disable-quic",
					"--no-first-run",
					"--disable-background-networking",
					"--disable-component-update",
					"--disable-sync",
				],
			},
			options,
		),
	);
	const page = context.pages()[0] || (await context.newPage()),
		url = "file://" + path.resolve(file),
		complaints = [];
	page.setDefaultTimeout(120000);
	page.on("console", m => complaints.push(`console: ${m.text()}`));
	page.on("pageerror", e => complaints.push(`error: ${e.stack}`));
	page.on("dialog", d => {
		complaints.push("dialog");
		d.dismiss();
	});
	context.on("request", r => r.url().split("#")[0] === url || complaints.push(`request: ${r.url()}`));
	await page.goto(url);
	await page.waitForFunction(() => document.documentElement.dataset.ready === "yes");
	return {
		page,
		complaints,
		close: async () => {
			await context.close();
			fs.rmSync(folder, { recursive: true, force: true });
		},
	};
};

exports.run = main =>
	main().then(
		() => process.exit(failed ? 1 : 0),
		e => {
			console.log("FAIL " + (e.stack || e));
			process.exit(1);
		},
	);

// Prints to a file, or only prints.  A browser on a busy machine may give up on its printing process.
exports.print = async (page, options) => {
	for (let left = 4; ; left--) {
		try {
			return await page.pdf(options);
		} catch (e) {
			if (!left || !/Printing failed/.test(e.message)) throw e;
		}
	}
};

// Opens every <details>, twice: some have others inside.
exports.unfold = page =>
	page.evaluate(() => {
		for (let i = 0; i < 2; i++)
			document.querySelectorAll("details").forEach(d => {
				d.open = true;
			});
		return new Promise(done => setTimeout(done));
	});

exports.sideways = page =>
	page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
