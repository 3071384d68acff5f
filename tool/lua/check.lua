-- `wharf lua check`: says what the compiler does not say of a text that it takes: globals that
-- nobody knows, locals that nobody reads, and functions of wharf and of Lua's libraries that are
-- not there. check(text, known, kind) -> array of {line, column, message}; known: name -> who (the
-- letters of reference.txt), kind: 'w' a workflow, 'h' a hook file; test: a test file. column(text,
-- line) -> where in the line the compiler stopped.

local KEYWORDS = {}
local WORDS = [[and break do else elseif end false for function goto if in local nil not or repeat
  return then true until while]]
for word in WORDS:gmatch("%a+") do KEYWORDS[word] = true end
local BINARY = {}
for op in ([[+ - * / // % ^ .. < <= > >= == ~= & | ~ << >> and or]]):gmatch("%S+") do
  BINARY[op] = true
end
local UNARY = { ["-"] = true, ["not"] = true, ["#"] = true, ["~"] = true }
local LONG = { "...", "<<", ">>", "//", "==", "~=", "<=", ">=", "::", ".." }

-- ---- tokens: {kind, text, at}; kind is name, string, number, or the word or sign itself ----

local function long_end(s, at)
  local level = s:match("^%[(=*)%[", at)
  if not level then return nil end
  local _, stop = s:find("]" .. level .. "]", at, true)
  return stop or #s
end

local function string_end(s, at)
  local quote = s:sub(at, at)
  local i = at + 1
  while i <= #s do
    local c = s:sub(i, i)
    if c == quote then return i end
    i = i + (c == "\\" and 2 or 1)
  end
  return #s
end

local function number_end(s, at)
  local _, stop = s:find("^0[xX][%x.]*", at)
  if stop then
    local _, more = s:find("^[pP][+-]?%d+", stop + 1)
    return more or stop
  end
  _, stop = s:find("^%d*%.?%d*", at)
  local _, more = s:find("^[eE][+-]?%d+", stop + 1)
  return more or stop
end

local function sign(s, at)
  for _, text in ipairs(LONG) do
    if s:sub(at, at + #text - 1) == text then return text end
  end
  return s:sub(at, at)
end

local function tokens(s)
  local list, at = {}, 1
  local function add(kind, stop)
    list[#list + 1] = { kind = kind, text = s:sub(at, stop), at = at }
    at = stop + 1
  end
  while true do
    at = s:find("%S", at)
    if not at then break end
    if s:find("^%-%-", at) then
      local stop = long_end(s, at + 2)
      at = (stop or (s:find("\n", at, true) or #s)) + 1
    elseif s:find("^[%a_]", at) then
      local _, stop = s:find("^[%w_]+", at)
      local word = s:sub(at, stop)
      add(KEYWORDS[word] and word or "name", stop)
    elseif s:find("^%.?%d", at) then
      add("number", number_end(s, at))
    elseif s:find("^[\"']", at) then
      add("string", string_end(s, at))
    elseif long_end(s, at) then
      add("string", long_end(s, at))
    else
      local text = sign(s, at)
      add(text, at + #text - 1)
    end
  end
  list[#list + 1] = { kind = "end of file", text = "", at = #s + 1 }
  return list
end

-- ---- names that are near ----

-- Counts the letters that must be put in, taken out or changed to make one word of the other; two
-- that changed places count as one.
local function distance(a, b)
  local before, row = nil, {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local next_row = { [0] = i }
    for j = 1, #b do
      local same = a:byte(i) == b:byte(j)
      next_row[j] = math.min(row[j] + 1, next_row[j - 1] + 1, row[j - 1] + (same and 0 or 1))
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        next_row[j] = math.min(next_row[j], before[j - 2] + 1)
      end
    end
    before, row = row, next_row
  end
  return row[#b]
end

-- Returns the word that is nearest, when one is near enough; else nil.
local function nearest(word, words)
  local best, least = nil, #word > 1 and math.max(2, #word // 3 + 1) or 0
  table.sort(words)
  for _, w in ipairs(words) do
    local d = distance(word, w)
    if d < least then best, least = w, d end
  end
  return best
end

-- ---- where the compiler stopped ----

-- The column of the token that it could not take: what stands before it is only not complete, and
-- with it there is another message.
local function column(text, line)
  local begins = 1
  for _ = 2, line do begins = (text:find("\n", begins, true) or #text) + 1 end
  for _, token in ipairs(tokens(text)) do
    if token.at >= begins then
      local _, message = load(text:sub(1, token.at + #token.text - 1), "=x", "t")
      if token.text == "" or message and not message:find("near <eof>$") then
        return math.max(1, token.at - begins + 1)
      end
    end
  end
  return 1
end

-- ---- the text, walked once: who declares, who reads ----

local function check(text, known, kind, test)
  local list, at, findings, scope, set = tokens(text), 1, {}, nil, {}
  local expression, block, expressions

  local function report(token, message)
    findings[#findings + 1] = { at = token.at, message = message }
  end

  local function peek(k) return list[at].kind == k end
  local function take()
    at = at + 1
    return list[at - 1]
  end
  local function accept(k) return peek(k) and take() end

  -- scopes

  local function open() scope = { outer = scope, names = {}, order = {} } end

  -- together: those of one call, of which one is enough to be read.
  local function declare(token, checked, together)
    local v = { token = token, checked = checked, read = false, together = together or {} }
    scope.names[token.text] = v
    scope.order[#scope.order + 1] = v
  end

  local function close()
    for _, v in ipairs(scope.order) do
      if v.checked and not v.read and not v.together.read and v.token.text:sub(1, 1) ~= "_" then
        report(v.token, "the local '" .. v.token.text .. "' is never read")
      end
    end
    scope = scope.outer
  end

  local function find(name)
    local s = scope
    while s do
      if s.names[name] then return s.names[name] end
      s = s.outer
    end
  end

  -- names of the library

  local function serves(who)
    return who == "a"
      or who == kind
      or (who == "t" and test)
      or (who == "h" and test and kind == "h")
  end

  -- Lists what may stand behind the path ("" for globals), by its last word.
  local function names_in(path)
    local list, begin = {}, path == "" and "" or path .. "."
    for name, who in pairs(known) do
      local word = name:sub(1, #begin) == begin and name:sub(#begin + 1)
      if
        word
        and word ~= ""
        and not word:find(".", 1, true)
        and (who == "table" or serves(who))
      then
        list[#list + 1] = word
      end
    end
    return list
  end

  local function tell_unknown(token, path)
    local who = known[path]
    if who and not serves(who) then
      report(
        token,
        path
          .. (
            who == "t" and " is for test files only"
            or who == "h" and " is for operators' hooks only"
            or " is for workflows only"
          )
      )
      return
    end
    local above = path:match("^(.*)%.") or ""
    local near = nearest(token.text, names_in(above))
    report(
      token,
      "there is no " .. path .. (near and "; did you mean " .. above .. "." .. near .. "?" or "")
    )
  end

  local function tell_unknown_global(token)
    local words, s = names_in(""), scope
    while s do
      for name in pairs(s.names) do words[#words + 1] = name end
      s = s.outer
    end
    local near = nearest(token.text, words)
    report(
      token,
      "the global '"
        .. token.text
        .. "' is not known"
        .. (near and "; did you mean '" .. near .. "'?" or "")
    )
  end

  -- Behind a global: .a.b as far as the library goes.
  local function follow(path)
    while peek(".") and known[path] == "table" and list[at + 1].kind == "name" do
      take()
      local token = take()
      path = path .. "." .. token.text
      if known[path] ~= "table" and not (known[path] and serves(known[path])) then
        tell_unknown(token, path)
        return
      end
    end
  end

  local function read(token)
    local v = find(token.text)
    if v then
      v.read, v.together.read = true, true
    elseif known[token.text] == "table" then
      follow(token.text)
    elseif not (known[token.text] and serves(known[token.text])) and not set[token.text] then
      tell_unknown_global(token)
    end
  end

  local function write(token)
    local v = find(token.text)
    if v then return end
    if not set[token.text] then
      report(token, "the global '" .. token.text .. "' is set; make it local")
    end
    set[token.text] = true
  end

  -- expressions

  local function body(method)
    open()
    if method then declare({ text = "self", at = 0 }) end
    take() -- (
    while not peek(")") do
      if peek("name") then declare(take()) else take() end
    end
    take()
    block()
    take() -- end
    close()
  end

  local function constructor()
    take()
    while not accept("}") do
      if accept("[") then
        expression()
        take() -- ]
        take() -- =
      elseif peek("name") and list[at + 1].kind == "=" then
        take()
        take()
      end
      expression()
      if not accept(",") then accept(";") end
    end
  end

  local function arguments()
    if peek("string") then
      take()
    elseif peek("{") then
      constructor()
    else
      take() -- (
      if not peek(")") then expressions() end
      take()
    end
  end

  -- Reads what a statement may begin with, or an operand. Returns the name alone when nothing
  -- follows it: what an assignment writes.
  local function suffixed()
    local alone
    if accept("(") then
      expression()
      take()
    else
      alone = take()
      if peek("=") or peek(",") then return alone end
      read(alone)
    end
    while true do
      if accept(".") then
        take()
      elseif accept("[") then
        expression()
        take()
      elseif accept(":") then
        take()
        arguments()
      elseif peek("(") or peek("{") or peek("string") then
        arguments()
      else
        return nil
      end
    end
  end

  local function operand()
    if peek("{") then
      constructor()
    elseif accept("function") then
      body()
    elseif peek("name") or peek("(") then
      local alone = suffixed()
      if alone then read(alone) end
    else
      take() -- a constant, or ...
    end
  end

  function expression()
    while true do
      while UNARY[list[at].kind] do take() end
      operand()
      if not BINARY[list[at].kind] then return end
      take()
    end
  end

  function expressions()
    local n = 0
    repeat
      expression()
      n = n + 1
    until not accept(",")
    return n
  end

  -- statements

  local statements = {}

  function statements.local_()
    if accept("function") then
      declare(take(), true)
      body()
      return
    end
    local names = {}
    repeat
      local token, closes = take(), false
      if accept("<") then
        closes = take().text == "close"
        take()
      end
      names[#names + 1] = { token, not closes }
    until not accept(",")
    local n = accept("=") and expressions() or 0
    local together = n > 0 and n < #names and {} or nil
    for _, name in ipairs(names) do declare(name[1], name[2], together) end
  end

  function statements.function_()
    local token, method = take(), false
    if peek("(") then write(token) else read(token) end
    while peek(".") or peek(":") do
      method = take().kind == ":"
      take()
    end
    body(method)
  end

  function statements.for_()
    local names = {}
    repeat names[#names + 1] = take() until not accept(",")
    take() -- = or in
    expressions()
    take() -- do
    open()
    for _, n in ipairs(names) do declare(n) end
    block()
    take()
    close()
  end

  function statements.if_()
    repeat
      expression()
      take() -- then
      open()
      block()
      close()
    until not accept("elseif")
    if accept("else") then
      open()
      block()
      close()
    end
    take()
  end

  function statements.while_()
    expression()
    take()
    open()
    block()
    take()
    close()
  end

  function statements.repeat_()
    open()
    block()
    take()
    expression()
    close()
  end

  function statements.do_()
    open()
    block()
    take()
    close()
  end

  local function assignment_or_call()
    local targets = { suffixed() or false }
    while accept(",") do targets[#targets + 1] = suffixed() or false end
    if accept("=") then
      expressions()
      for _, t in ipairs(targets) do
        if t then write(t) end
      end
    end
  end

  local function statement()
    if accept(";") or accept("break") then return end
    if accept("goto") then
      take()
      return
    end
    if accept("::") then
      take()
      take()
      return
    end
    local special = statements[list[at].kind .. "_"]
    if special then
      take()
      special()
    else
      assignment_or_call()
    end
  end

  local LAST =
    { ["end"] = true, ["else"] = true, ["elseif"] = true, ["until"] = true, ["end of file"] = true }

  function block()
    while not LAST[list[at].kind] do
      if accept("return") then
        if not LAST[list[at].kind] and not peek(";") then expressions() end
        accept(";")
        return
      end
      statement()
    end
  end

  open()
  block()
  close()

  -- positions
  table.sort(findings, function(a, b) return a.at < b.at end)
  local line, begins, out = 1, 1, {}
  for i, f in ipairs(findings) do
    while true do
      local stop = text:find("\n", begins, true)
      if not stop or stop >= f.at then break end
      line, begins = line + 1, stop + 1
    end
    out[i] = { line, f.at - begins + 1, f.message }
  end
  return out
end

return check, column
