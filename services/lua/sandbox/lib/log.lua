-- wharf.log: lines of the run (op log). At most 500 lines of 4 KiB and 256 KiB in all; then one
-- line says that there was more.
local host, wharf = ...
local M = {}
local run, lines, bytes, full -- run: a state of operators' hooks serves many

local LINE = 4096

local function cut(text, room)
  if #text <= room then return text end
  local n = math.max(room - 6, 0)
  while n > 0 and (text:byte(n + 1) & 0xC0) == 0x80 do n = n - 1 end
  return text:sub(1, n) .. " …"
end

-- Fields in what a message of so many bytes leaves of a line, and what both take. What has no JSON
-- is refused by the call.
local function fitting(fields, size)
  if type(fields) ~= "table" then fields = { value = fields } end
  local ok, text = pcall(wharf.json.encode, fields)
  if not ok or size + #text <= LINE then return fields, size + (ok and #text or 0) end
  text = cut(text, LINE - size)
  return { truncated = text }, size + #text
end

-- Bytes that are no text are shown as "?", and only these: what is hidden of a line is found letter
-- by letter.
local function readable(text)
  local parts, from = {}, 1
  local good, at = utf8.len(text)
  while not good do
    parts[#parts + 1] = text:sub(from, at - 1)
    from = at + 1
    good, at = utf8.len(text, from)
  end
  parts[#parts + 1] = text:sub(from)
  return table.concat(parts, "?")
end

local function line(level, message, fields)
  local file, at = host.where()
  if run ~= host.nth() then run, lines, bytes, full = host.nth(), 0, 0, false end
  local whole = tostring(message)
  message = cut(whole, LINE)
  local was_cut = #whole > LINE or nil
  message = readable(message)
  local size = #message
  if fields ~= nil then fields, size = fitting(fields, size) end
  lines, bytes = lines + 1, bytes + size
  if full then return end
  if lines > 500 or bytes > 256 * 1024 then
    full = true
    level, message, fields, was_cut =
      "warn", "truncated: a run logs at most 500 lines and 256 KiB", nil, nil
  end
  host.call(
    "log",
    { level = level, message = message, cut = was_cut, fields = fields, file = file, line = at }
  )
end

for _, level in ipairs { "debug", "info", "warn", "error" } do
  M[level] = function(message, fields) line(level, message, fields) end
end

return M
