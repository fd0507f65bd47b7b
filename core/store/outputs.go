package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// LongOutput is how many bytes the result of a tool may have to be kept with its conversation.
const LongOutput = 8 << 10

// Cut is what one step of CutOutputs has done.
type Cut struct {
	// Outputs is how many results were deleted, Bytes how many bytes they had.
	Outputs int
	Bytes   int64
	// Last is the message up to which the step looked; More says that there are old messages behind it.
	Last int64
	More bool
}

// CutOutputs replaces the results of tools of more than LongOutput bytes that are from before old by a note that says so. It looks at the
// next limit messages behind the one with the number after, and ends at the first that is not old.
func (s *Store) CutOutputs(ctx context.Context, after int64, old time.Time, limit int) (Cut, error) {
	c, looked, young := Cut{Last: after}, 0, false
	sizes := map[int64]int64{}
	// octet_length reads the length of a text without the text.
	err := s.read(ctx, "look for old results of tools", `SELECT m.seq, iif(m.role = 'tool', octet_length(m.content), 0),
		coalesce(m.at, (SELECT t.started_at FROM turns t WHERE t.id = m.turn_id))
		FROM messages m WHERE m.seq > ? ORDER BY m.seq LIMIT ?`, []any{after, limit}, func(rows *sql.Rows) error {
		var seq, size int64
		var at stamp
		if err := rows.Scan(&seq, &size, &at); err != nil {
			return err
		}
		if young = young || !time.Time(at).Before(old); young {
			return nil
		}
		if looked++; size > LongOutput {
			sizes[seq] = size
		}
		c.Last = seq
		return nil
	})
	if err != nil {
		return Cut{Last: after}, err
	}
	c.More = !young && looked == limit
	if len(sizes) == 0 {
		return c, nil
	}
	c.Outputs, err = result(ctx, s, "delete old results of tools", func(t *tx) (cut int, err error) {
		for seq, size := range sizes {
			n, err := t.exec(`UPDATE messages SET content = ? WHERE seq = ? AND role = 'tool' AND octet_length(content) = ?`,
				fmt.Sprintf("[this result of %d bytes was deleted because of its age]", size), seq, size)
			if err != nil {
				return 0, err
			}
			cut += n
		}
		return cut, nil
	})
	if err != nil {
		return Cut{Last: after}, err
	}
	for _, size := range sizes {
		c.Bytes += size
	}
	return c, nil
}
