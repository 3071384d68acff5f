// Renders each label of a file of ZPL: render.js FILE DOTS_PER_MM WIDTH_MM HEIGHT_MM OUT - writes OUT.0.png, OUT.1.png, ...
import { readFileSync, writeFileSync } from "node:fs"
import { ready } from "zpl-renderer-js"

const [file, dots, width, height, out] = process.argv.slice(2)
const { api } = await ready
const labels = await api.zplToBase64MultipleAsync(readFileSync(file, "utf8"), Number(width), Number(height), Number(dots))
labels.forEach((label, i) => writeFileSync(`${out}.${i}.png`, Buffer.from(label, "base64")))
process.exit(0) // the renderer has a loop of its own
