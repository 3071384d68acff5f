-- wharf.text: work on texts without patterns.
local host, wharf = ...
local c = host.text
local M = { trim = c.trim, slug = c.slug, similarity = c.similarity }

function M.split(s, sep, max)
  if type(sep) ~= "string" or sep == "" then
    host.raise("a separator is a string of at least one character")
  end
  local out, from = {}, 1
  while not max or #out + 1 < max do
    local a, b = s:find(sep, from, true)
    if not a then break end
    out[#out + 1] = s:sub(from, a - 1)
    from = b + 1
  end
  out[#out + 1] = s:sub(from)
  return out
end

function M.join(list, sep)
  local out = {}
  for i, v in ipairs(list) do out[i] = tostring(v) end
  return table.concat(out, sep or "")
end

function M.starts_with(s, prefix) return s:sub(1, #prefix) == prefix end
function M.ends_with(s, suffix) return suffix == "" or s:sub(-#suffix) == suffix end
function M.contains(s, part) return s:find(part, 1, true) ~= nil end

-- pad(s, n, {fill = " ", side = "right"}): side is where the fill goes.
function M.pad(s, n, opts)
  local fill = opts and opts.fill or " "
  if utf8.len(fill) ~= 1 then host.raise("fill is one character") end
  local missing = n - (utf8.len(s) or #s)
  if missing <= 0 then return s end
  if opts and opts.side == "left" then return fill:rep(missing) .. s end
  return s .. fill:rep(missing)
end

local ESCAPES = {
  html = function(s)
    return (
      s:gsub(
        "[&<>\"']",
        { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }
      )
    )
  end,
  json = function(s) return (wharf.json.encode(s):sub(2, -2)) end,
  url = function(s) return wharf.url.encode(s) end,
}

-- template("Hello {{user.name}}", vars): what is not there is empty.
function M.template(s, vars, opts)
  local escape = opts and opts.escape
  if escape and not ESCAPES[escape] then host.raise("escape is html, json or url") end
  return (s:gsub("{{%s*([%w_.]+)%s*}}", function(path)
    local v = wharf.table.get(vars, path)
    if v == nil or v == wharf.null then return "" end
    if type(v) == "table" then v = wharf.json.encode(v, { sort_keys = true }) end
    v = tostring(v)
    return escape and ESCAPES[escape](v) or v
  end))
end

return M
