// extract.js - the pieces into which fengari's tests divide Lua's official test files: prints [{file, piece, name, text}] of the files named on the command line.
// A piece is the text that such a test loads; nothing of fengari runs. Bytes that a workflow's source can't have are written as escapes.
"use strict";
const fs = require("fs"), path = require("path"), vm = require("vm");
const folder = path.join(__dirname, "node_modules/fengari/test/test-suite");
const escaped = (text, bytes) => text.replace(bytes, (c) => "\\x" + c.charCodeAt(0).toString(16).padStart(2, "0"));

class Loaded { constructor(text) { this.text = text; } }

const told = {
    luaL_newstate: () => ({}),
    luaL_openlibs: () => {},
    luaopen_tests: () => {},
    to_luastring: (text) => text,
    luaL_loadstring: (state, text) => { throw new Loaded(escaped(text, /\0/g)); },
    luaL_loadfile: (state, name) => { throw new Loaded(escaped(fs.readFileSync(path.join(folder, path.basename(name)), "latin1"), /[\0\x80-\xff]/g)); },
};

function pieces(file) {
    const found = [];
    const piece = (name, run) => {
        try {
            run();
        } catch (e) {
            if (!(e instanceof Loaded)) throw e;
            found.push({ file, piece: found.length + 1, name: name.replace("[test-suite] ", ""), text: e.text });
            return;
        }
        throw new Error(`${file}: "${name}" loads nothing`);
    };
    piece.skip = piece;
    vm.runInNewContext(fs.readFileSync(path.join(folder, `${file}.test.js`), "utf8"), { require: () => told, test: piece, Error });
    return found;
}

process.stdout.write(JSON.stringify(process.argv.slice(2).flatMap(pieces)));
