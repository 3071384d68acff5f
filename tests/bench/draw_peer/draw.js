// draw.js NAME TIMES OUT - the papers of tests/bench/draw.py by pdfmake (and bwip-js, which has the barcodes that pdfmake has not).
const fs = require("fs");
const path = require("path");
const bwipjs = require("bwip-js");
const Printer = require("pdfmake/src/printer");

const font = (name) => path.join("/usr/share/fonts/opentype/inter", `Inter-${name}.otf`);
const printer = new Printer({ Inter: { normal: font("Regular"), bold: font("Bold"), italics: font("Italic"), bolditalics: font("BoldItalic") } });
const place = (x, y, text, fontSize, bold) => ({ text, fontSize, bold: !!bold, absolutePosition: { x, y } });
const code = (bcid, text, x, y, width, height) => ({ svg: bwipjs.toSVG({ bcid, text }), absolutePosition: { x, y }, width, height });
const line = (y) => ({ canvas: [{ type: "line", x1: 0, y1: 0, x2: 252, y2: 0, lineWidth: 0.5 }], absolutePosition: { x: 18, y } });

function rows(n) {
  const list = [["SKU", "Name", { text: "Ordered", alignment: "right" }, { text: "Shipped", alignment: "right" }].map((c) => (c.text ? { ...c, bold: true } : { text: c, bold: true }))];
  for (let i = 0; i < n; i++)
    list.push([`SKU-${String(i).padStart(4, "0")}`, `Article number ${i} of the list`, { text: `${(i % 17) + 1}`, alignment: "right" }, { text: `${(i % 13) + 1}`, alignment: "right" }]);
  return { table: { headerRows: 1, widths: [114, 254, 74, 74], body: list }, layout: "lightHorizontalLines", fontSize: 9 };
}

const papers = {
  label: () => ({ pageSize: { width: 288, height: 432 }, pageMargins: 0, content: [
    place(18, 18, "FROM  Wharf Goods, Dock 5, Oakland CA 94607", 8), line(34), place(18, 42, "SHIP TO", 9), place(18, 56, "Ada Lovelace", 16, true),
    place(18, 78, "1200 Harbor Street, Suite 400", 14), place(18, 96, "Baltimore MD 21230", 14), line(120),
    code("code128", "1Z999AA10123456784", 18, 128, 252, 70), place(90, 202, "1Z999AA10123456784", 9), line(220),
    code("qrcode", "https://track.example/1Z999AA10123456784", 18, 230, 90, 90), code("datamatrix", "ORDER-100234", 130, 230, 60, 60),
    code("pdf417", "ORDER-100234/1Z999AA10123456784", 18, 340, 252, 60), place(200, 240, "Order 100234", 9), place(200, 254, "1 of 2", 9)] }),
  slip: () => ({ pageSize: "LETTER", pageMargins: [36, 18, 36, 18], footer: (page, pages) => ({ text: `${page} / ${pages}`, alignment: "right", fontSize: 9 }), content: [
    place(36, 30, "Packing slip", 22, true), code("code128", "ORDER-100234", 396, 30, 180, 40), place(36, 90, "Ship to", 9, true), place(36, 104, "Ada Lovelace", 10),
    place(36, 118, "1200 Harbor Street, Suite 400", 10), place(36, 132, "Baltimore MD 21230", 10), place(396, 90, "Order", 9, true),
    place(396, 104, "100234 of 5 January 2026", 10), { ...rows(25), margin: [0, 152, 0, 12] }, { text: "Thank you. Returns within 30 days.", fontSize: 9 }] }),
  table: () => ({ pageSize: "LETTER", pageMargins: [36, 36, 36, 18], content: [rows(1000)] }),
};

async function draw(name) {
  const doc = printer.createPdfKitDocument({ ...papers[name](), defaultStyle: { font: "Inter" } });
  const chunks = [];
  const done = new Promise((resolve) => doc.on("end", resolve));
  doc.on("data", (chunk) => chunks.push(chunk));
  doc.end();
  await done;
  return Buffer.concat(chunks);
}

(async () => {
  const [name, times, out] = process.argv.slice(2);
  let bytes;
  for (let i = 0; i < Number(times); i++) bytes = await draw(name);
  fs.writeFileSync(out, bytes);
})();
