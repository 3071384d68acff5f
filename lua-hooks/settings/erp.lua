-- Where 30-erp-deliveries.lua reports to. Without a url it does nothing.
return {
  url = nil, -- "https://erp.example.com/goods"
  token = nil, -- sent as Authorization: Bearer
}
