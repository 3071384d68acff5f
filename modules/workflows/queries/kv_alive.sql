-- Tells whether a key k is there still. $4 now.
(k.expires_at IS NULL OR k.expires_at > $4::timestamptz)
