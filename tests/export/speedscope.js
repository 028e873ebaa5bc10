// SPDX-License-Identifier: MIT
// Opens profiles with the import code of speedscope as it is published, under node:
//   node speedscope.js FOLDER_WITH_node_modules FILE...
// prints for each FILE one line of JSON: its profiles' names, total weights, unit and frame names.
'use strict'
const fs = require('fs'), path = require('path'), vm = require('vm')
const [folder, ...files] = process.argv.slice(2)
const dist = path.join(folder, 'node_modules/speedscope/dist/release')
let source = fs.readFileSync(path.join(dist, fs.readdirSync(dist).find(f => /^speedscope-.*\.js$/.test(f))), 'utf8')

// The bundle keeps its importers in one object, made by one function; the rest of it is the page.
const [, importers] = source.match(/([\w$]+),\{importFromFileSystemDirectoryEntry/)
const make = [...source.matchAll(/\.then\(\(\)=>\(([\w$]+)\(\),([\w$]+)\)\)/g)].find(m => m[2] === importers)[1]
source = source.slice(0, source.lastIndexOf('console.log(`speedscope v')) +
	`${make}();globalThis.importers=${importers}})();`
const nothing = new Proxy(function () {}, {
	get: (t, p) => p === Symbol.toPrimitive ? () => '' : nothing, apply: () => nothing, construct: () => nothing,
})
Object.assign(globalThis, { window: globalThis, document: nothing, location: { hash: '', protocol: 'file:' },
	matchMedia: () => nothing, addEventListener: () => {} })
vm.runInThisContext(source)
console.log = () => {}

;(async () => {
	for (const file of files) {
		const bytes = fs.readFileSync(file)
		const group = await globalThis.importers.importProfilesFromArrayBuffer(path.basename(file),
			bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length))
		if (!group)
			throw new Error(`speedscope knows no format like ${file}`)
		const profiles = group.profiles.map(p => {
			const frames = new Set()
			p.forEachFrame(f => frames.add(f.name))
			return { name: p.getName(), total: p.getTotalWeight(), nonIdle: p.getTotalNonIdleWeight(),
				unit: p.getWeightUnit(), frames: [...frames].sort() }
		})
		process.stdout.write(JSON.stringify({ file: path.basename(file), profiles }) + '\n')
	}
	process.exit(0)
})().catch(e => { process.stderr.write(`${e.stack}\n`); process.exit(1) })
