-- When 40-waiting-parcels.lua looks, and where it tells. Without a url it writes to the log only.
return {
  at = "15 3 * * *",
  timezone = "UTC",
  days = 3,
  url = nil, -- "https://office.example.com/waiting"
}
