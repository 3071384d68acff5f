-- Parcels that wait for longer than three days: 40-waiting-parcels.lua.

local TICK = {
  scheduled_at = "2025-01-10T03:15:00.000Z",
  actual_at = "2025-01-10T03:15:00.020Z",
  local_time = "2025-01-10T03:15:00+00:00",
}
local PLACES = {
  {
    location = "loc_1",
    n = 2,
    since = "2025-01-01T00:00:00Z",
    parcels = { { id = "par_1" }, { id = "par_2" } },
  },
}

local function with_url()
  test.file(
    "settings.waiting",
    'return { at = "15 3 * * *", days = 3, url = "https://office.example.com/waiting" }'
  )
end

test.case("a line per location, about what is older than three days", function()
  test.db("*FROM parcels.parcel*", function(call)
    test.eq(call.values[1], "2025-01-07T03:15:00.000Z")
    return PLACES
  end)
  local r = test.run("on_schedule", TICK)
  test.eq(r.status, "succeeded")
  test.eq(#r.logs, 1)
  test.eq(r.logs[1].fields.parcels, 2)
  test.eq(#r.http, 0)
end)

test.case("one list per organization", function()
  with_url()
  test.db("*", PLACES)
  test.http("POST", "https://office.example.com/waiting", { status = 204 })
  local r = test.run("on_schedule", TICK)
  test.eq(#r.http, 1)
  test.same(wharf.json.decode(r.http[1].body).locations, PLACES)
end)

test.case("a list that can't be delivered is tried again", function()
  with_url()
  test.db("*", PLACES)
  test.http("POST", "*", { status = 500 })
  test.eq(test.run("on_schedule", TICK).error.retry, true)
end)

test.case("nobody waits, nothing is said", function()
  with_url()
  test.db("*", {})
  local r = test.run("on_schedule", TICK)
  test.eq(#r.logs, 0)
  test.eq(#r.http, 0)
end)
