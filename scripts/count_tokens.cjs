// Counts the texts of tests/data/tokens/counts.json anew with two public vocabularies, and writes the file:
//   npm install --no-save gpt-tokenizer && node scripts/count_tokens.cjs
const fs = require("node:fs");
const path = require("node:path");

const file = path.join(__dirname, "..", "tests", "data", "tokens", "counts.json");
const encodings = ["o200k", "cl100k"].map((name) => [name, require(`gpt-tokenizer/cjs/encoding/${name}_base`)]);
const data = JSON.parse(fs.readFileSync(file, "utf8"));
for (const entry of data.texts) {
  const eightTimes = Array(8).fill(entry.text).join("\n");
  for (const [name, encoding] of encodings) {
    entry[name] = encoding.encode(entry.text).length;
    entry[`${name}_eight`] = encoding.encode(eightTimes).length;
  }
}
fs.writeFileSync(file, JSON.stringify(data, null, 1) + "\n");
