-- Each night: which parcels have waited in storage for longer than three days? One line in the log
-- per location that has some, and, when settings/waiting.lua names an address, one POST per
-- organization with all of them (at most 1,000 of a location). What can't be delivered is tried
-- again after 10 seconds, 1 minute and 5 minutes. For module parcels.

local settings = require("settings.waiting")

local WAITING = [[
  SELECT coalesce(location_id, '') AS location, count(*)::int AS n, min(created_at) AS since,
    to_json((array_agg(json_build_object('id', id, 'name', name, 'since', created_at)
      ORDER BY created_at, id))[1:1000]) AS parcels
  FROM parcels.parcel
  WHERE deleted_at IS NULL AND status IN ('in_storage', 'overdue') AND created_at < $1::timestamptz
  GROUP BY 1 ORDER BY 1]]

local function report(ctx, places)
  local res, err = wharf.http.post(settings.url, {
    timeout_ms = 10000,
    json = { organization = ctx.organization_id, days = settings.days, locations = places },
  })
  if not res or res.status >= 300 then
    wharf.fail(
      "the list of waiting parcels could not be delivered: " .. (err and err.code or res.status),
      { retry = true }
    )
  end
end

local function look(tick, ctx)
  local before =
    wharf.time.iso(wharf.time.add(wharf.time.parse(tick.scheduled_at), { days = -settings.days }))
  local places = wharf.db.query(WAITING, before)
  for _, place in ipairs(places) do
    wharf.log.warn(
      "parcels wait for longer than " .. settings.days .. " days",
      {
        organization = ctx.organization_id,
        location = place.location,
        parcels = place.n,
        since = place.since,
      }
    )
  end
  if settings.url and #places > 0 then report(ctx, places) end
end

wharf.hook.schedule(settings.at, look, { timezone = settings.timezone })
