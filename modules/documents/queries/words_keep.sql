-- Keeps the words of a document, folded, each once, in the order in which they stand, the first
-- 20,000 letters of them. $1 organization, $2 document, $3 the file that was read, $4 its text.
UPDATE documents.document
SET words_file_id = $3::text,
    content_words = (
        SELECT string_agg(w.word, ' ' ORDER BY w.n)
        FROM (
            SELECT o.word, o.n, sum(length(o.word) + 1) OVER (ORDER BY o.n) AS total
            FROM (
                SELECT p.word, min(p.n) AS n
                FROM regexp_split_to_table(wharf.fold($4::text), '\s+')
                    WITH ORDINALITY AS p(word, n)
                WHERE length(p.word) BETWEEN 2 AND 200
                GROUP BY p.word
            ) o
        ) w
        WHERE w.total <= 20000
    )
WHERE organization_id = $1::text AND id = $2::text AND file_id = $3::text AND deleted_at IS NULL
RETURNING id
