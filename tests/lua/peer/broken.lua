-- broken.lua - raises the first four times that it is required.
peer_tries.n = (peer_tries.n or 0) + 1
if peer_tries.n < 5 then error({tries = peer_tries.n}) end
return {loaded = peer_tries.n}
