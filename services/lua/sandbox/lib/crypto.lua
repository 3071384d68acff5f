-- wharf.crypto: hashes, randomness, ids, and the signatures of Standard Webhooks.
local host, wharf = ...
local c = host.bytes
local M =
  { sha256 = c.sha256, hmac_sha256 = c.hmac_sha256, equal = c.equal, random_bytes = c.random_bytes }

function M.uuid()
  local b = { c.random_bytes(16):byte(1, 16) }
  b[7] = (b[7] & 0x0F) | 0x40
  b[9] = (b[9] & 0x3F) | 0x80
  return (
    string
      .format(("%02x"):rep(16), table.unpack(b))
      :gsub("^(%x%x%x%x%x%x%x%x)(%x%x%x%x)(%x%x%x%x)(%x%x%x%x)", "%1-%2-%3-%4-")
  )
end

local LETTERS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

-- id("box") -> "box_" and 26 letters: the time, then randomness; later ones sort behind.
function M.id(prefix)
  if type(prefix) ~= "string" or not prefix:match("^[a-z][a-z0-9_]*$") then
    host.raise("a prefix is a word of a-z, 0-9 and _")
  end
  local out, ms = {}, wharf.time.now_ms()
  for i = 10, 1, -1 do
    local k = (ms & 31) + 1
    out[i] = LETTERS:sub(k, k)
    ms = ms >> 5
  end
  for i, byte in ipairs { c.random_bytes(16):byte(1, 16) } do
    local k = (byte & 31) + 1
    out[10 + i] = LETTERS:sub(k, k)
  end
  return prefix .. "_" .. table.concat(out)
end

local function key_of(secret)
  local text = secret:match("^whsec_(.+)$")
  if not text then return secret end
  local key = wharf.base64.decode(text)
  if not key then host.raise("a secret that begins with whsec_ goes on with base64") end
  return key
end

function M.sign_webhook(secret, id, ts, body)
  return "v1,"
    .. wharf.base64.encode(
      c.hmac_sha256(key_of(secret), id .. "." .. math.floor(ts) .. "." .. body)
    )
end

-- verify_webhook(secret, headers, body, {tolerance_s = 300}) -> true | false, err
function M.verify_webhook(secret, headers, body, opts)
  local h = {}
  for k, v in pairs(headers) do h[k:lower()] = v end
  local id, ts, signatures =
    h["webhook-id"], tonumber(h["webhook-timestamp"]), h["webhook-signature"]
  if not id or not ts or not signatures then
    return false,
      {
        code = "webhook.headers",
        message = "webhook-id, webhook-timestamp and webhook-signature are needed",
      }
  end
  if math.abs(wharf.time.now() - ts) > (opts and opts.tolerance_s or 300) then
    return false, { code = "webhook.too_old", message = "the timestamp is too far from now" }
  end
  local good = M.sign_webhook(secret, id, ts, body)
  for one in signatures:gmatch("%S+") do
    if c.equal(one, good) then return true end
  end
  return false, { code = "webhook.signature", message = "no signature fits" }
end

return M
