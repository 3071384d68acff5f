-- Tells whether the value of a key k is a whole number, of 19 digits at most.
(jsonb_typeof(k.value) = 'number' AND k.value #>> '{}' ~ '^-?[0-9]{1,19}$')
