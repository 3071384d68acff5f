-- Tells whether a key k is there still. $3 now.
(k.expires_at IS NULL OR k.expires_at > $3::timestamptz)
