-- wharf.mail: mail to users of the organization (op mail.send).
local host = ...
local M = {}

function M.send(m)
  if
    type(m) ~= "table"
    or m.to == nil
    or type(m.subject) ~= "string"
    or type(m.text) ~= "string"
  then
    host.raise("a mail is a table of to, subject, text and, if you like, html")
  end
  local r, err =
    host.call("mail.send", { to = m.to, subject = m.subject, text = m.text, html = m.html })
  if not r then return nil, err end
  return r.id
end

return M
