-- The label of a parcel comes out where the parcel is: 20-nearest-printer.lua.

local here = {
  id = "loc_1",
  own = true,
  prints = false,
  address = { coordinates = { 52.5, 13.4 }, country_code = "DE", city = "Berlin" },
}

local function places(...)
  test.db("SELECT location_id FROM parcels.parcel*", { { location_id = "loc_1" } })
  test.db("*FROM locations.location*", { here, ... })
end

local function sent(input)
  input.resource = input.resource or { type = "parcel", id = "par_1" }
  local r = test.run("before", test.change { resource = "print_job", input = input })
  test.eq(r.status, "succeeded")
  return r.input.location_id
end

test.case("to the nearest by coordinates", function()
  places(
    { id = "loc_2", own = false, prints = true, address = { coordinates = { 48.1, 11.6 } } },
    { id = "loc_3", own = false, prints = true, address = { coordinates = { 52.4, 13.1 } } },
    { id = "loc_4", own = false, prints = false, address = { coordinates = { 52.5, 13.4 } } }
  )
  test.eq(sent {}, "loc_3")
end)

test.case("the shorter way around the earth", function()
  test.db("SELECT location_id FROM parcels.parcel*", { { location_id = "loc_1" } })
  test.db("*FROM locations.location*", {
    { id = "loc_1", own = true, prints = false, address = { coordinates = { -18.1, 178.4 } } },
    { id = "loc_2", own = false, prints = true, address = { coordinates = { -36.8, 174.7 } } },
    { id = "loc_3", own = false, prints = true, address = { coordinates = { -16.8, -179.9 } } },
  })
  test.eq(sent {}, "loc_3")
end)

test.case("without coordinates to the one that shares more of the address", function()
  places(
    {
      id = "loc_2",
      own = false,
      prints = true,
      address = { country_code = "FR", city = "Berlin" },
    },
    { id = "loc_3", own = false, prints = true, address = { country_code = "DE", state = "BE" } }
  )
  test.eq(sent {}, "loc_3")
end)

test.case("of two that are as near, always the same one", function()
  local address = { coordinates = { 52.4, 13.1 } }
  places(
    { id = "loc_9", own = false, prints = true, address = address },
    { id = "loc_5", own = false, prints = true, address = address }
  )
  test.eq(sent {}, "loc_5")
end)

test.case("nobody prints: it waits at its own location", function()
  places({ id = "loc_2", own = false, prints = false, address = {} })
  test.eq(sent {}, "loc_1")
end)

test.case("the own printer comes first", function()
  test.db("SELECT location_id FROM parcels.parcel*", { { location_id = "loc_1" } })
  test.db("*FROM locations.location*", { { id = "loc_1", own = true, prints = true, address = {} },
    { id = "loc_2", own = false, prints = true, address = {} } })
  test.eq(sent {}, "loc_1")
end)

test.case("at its own location is no other place", function()
  places({ id = "loc_2", own = false, prints = true, address = {} })
  test.eq(sent { location_id = "loc_1" }, "loc_2")
end)

test.case("who says where is not asked about", function()
  test.db("SELECT location_id FROM parcels.parcel*", { { location_id = "loc_1" } })
  test.eq(sent { location_id = "loc_7" }, "loc_7")
  test.eq(sent { printer_id = "prn_1" }, nil)
  test.eq(sent { resource = { type = "shipment", id = "shp_1" } }, nil)
end)

test.case("null says nothing", function()
  places({ id = "loc_2", own = false, prints = true, address = {} })
  local null = wharf.null
  local job = { location_id = null, print_station_id = null, printer_id = null }
  job.printer_name = null
  test.eq(sent(job), "loc_2")
  test.eq(sent { resource = null }, nil)
end)

test.case("a parcel that is nowhere, or is gone", function()
  test.db("SELECT location_id FROM parcels.parcel*", { { location_id = wharf.null } })
  test.eq(sent {}, nil)
  test.db("SELECT location_id FROM parcels.parcel*", {})
  test.eq(sent {}, nil)
end)
