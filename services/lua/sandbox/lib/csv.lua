-- wharf.csv: RFC 4180, read and written.
local host = ...
local M = {}

local function delimiter_of(opts)
  local d = opts and opts.delimiter or ","
  if type(d) ~= "string" or #d ~= 1 or d == '"' or d == "\n" or d == "\r" then
    host.raise("a delimiter is one character")
  end
  return d
end

local function fail(line, message)
  return nil,
    { code = "csv.syntax", message = string.format("line %d: %s", line, message), line = line }
end

-- The field in quotes that begins at i: its text, the position behind it, the line there.
local function quoted(s, i, line)
  local parts, from = {}, i + 1
  while true do
    local q = s:find('"', from, true)
    if not q then return nil end
    parts[#parts + 1] = s:sub(from, q - 1)
    if s:sub(q + 1, q + 1) ~= '"' then
      local text = table.concat(parts)
      local _, breaks = text:gsub("\n", "")
      return text, q + 1, line + breaks
    end
    parts[#parts + 1] = '"'
    from = q + 2
  end
end

-- decode(s, {header = true, delimiter = ","}): rows as tables of fields by name with a header, else
-- as arrays.
function M.decode(s, opts)
  local d = delimiter_of(opts)
  local ends = "[\r\n" .. (d:match("%w") and d or "%" .. d) .. "]"
  local rows, row, i, n, line = {}, {}, 1, #s, 1
  if s:sub(1, 3) == "\xEF\xBB\xBF" then i = 4 end
  while i <= n do
    local text
    if s:sub(i, i) == '"' then
      text, i, line = quoted(s, i, line)
      if not text then return fail(line or 1, "a quote is not closed") end
    else
      local stop = s:find(ends, i) or n + 1
      text, i = s:sub(i, stop - 1), stop
      if text:find('"', 1, true) then
        return fail(line, "a quote stands in a field that does not begin with one")
      end
    end
    row[#row + 1] = text
    local c = s:sub(i, i)
    if c == d then
      i = i + 1
      if i > n then row[#row + 1] = "" end
    elseif c == "" or c == "\n" or c == "\r" then
      i = i + ((c == "\r" and s:sub(i + 1, i + 1) == "\n") and 2 or 1)
      line = line + 1
      if #row > 1 or row[1] ~= "" then rows[#rows + 1] = row end
      row = {}
    else
      return fail(line, "text follows a quoted field")
    end
  end
  if #row > 0 then rows[#rows + 1] = row end
  if not (opts and opts.header) then return rows end
  local names, out = table.remove(rows, 1) or {}, {}
  for k, r in ipairs(rows) do
    out[k] = {}
    for c, name in ipairs(names) do out[k][name] = r[c] or "" end
  end
  return out, nil, names
end

local function field(v, d)
  local text = v == nil and "" or tostring(v)
  if text:find('[\r\n"]') or text:find(d, 1, true) or text:find("^%s") or text:find("%s$") then
    return '"' .. text:gsub('"', '""') .. '"'
  end
  return text
end

-- encode(rows, {header = {"a", "b"}, delimiter = ","}): arrays, or with header tables by name.
function M.encode(rows, opts)
  local d, out = delimiter_of(opts), {}
  local names = opts and opts.header
  local function add(values, n)
    local line = {}
    for c = 1, n do line[c] = field(values[c], d) end
    out[#out + 1] = table.concat(line, d)
  end
  if names then add(names, #names) end
  for _, row in ipairs(rows) do
    if names and #row == 0 then
      local values = {}
      for c, name in ipairs(names) do values[c] = row[name] end
      add(values, #names)
    else
      add(row, #row)
    end
  end
  out[#out + 1] = ""
  return table.concat(out, "\r\n")
end

return M
