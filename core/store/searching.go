package store

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// What follows is what a search index reads. Each call reads along the primary key, within bounds.

// maxIndexed is how much of a message's text is indexed, in characters.
const maxIndexed = 16 << 10

// Spoken is a message of a user or an agent as the index reads it.
type Spoken struct {
	Seq  int64
	Turn string
	// Key and Platform are the session's. User is the user whose turn it is; empty where that is not known.
	Key, Platform, User string
	// Text is its beginning.
	Text string
}

func (v *Spoken) fields() []any {
	return []any{&v.Seq, &v.Turn, &v.Key, &v.Platform, &v.User, &v.Text}
}

// spokenUser is the user of the turn of a message m in a session s. Messages of earlier versions name none: then it is the
// session's, but of a group, whose last user it is, no one.
const spokenUser = `coalesce(nullif((SELECT u.who FROM messages u WHERE u.turn_id = m.turn_id AND u.role = 'user' ORDER BY u.seq LIMIT 1), ''),
	iif(s.key LIKE '%:group:%', '', s.user))`

// SpokenIn are the messages of users and agents whose numbers are from least to most, in order.
func (s *Store) SpokenIn(ctx context.Context, least, most int64) ([]Spoken, error) {
	return list[Spoken](ctx, s, "read messages for the index", `SELECT m.seq, m.turn_id, s.key, s.platform, `+spokenUser+`, substr(m.content, 1, `+fmt.Sprint(maxIndexed)+`)
		FROM messages m JOIN sessions s ON s.id = m.session_id
		WHERE m.seq BETWEEN ? AND ? AND m.role IN ('user', 'assistant') AND m.content <> '' ORDER BY m.seq`, least, most)
}

// Newest is the number of the newest message; 0 for none.
func (s *Store) Newest(ctx context.Context) (seq int64, err error) {
	err = s.value(ctx, "read the newest message", `SELECT coalesce(max(seq), 0) FROM messages`, &seq)
	return seq, err
}

// MarkOf is a number that tells a turn from others. A message is the same as before if its number and its turn's mark are.
func MarkOf(turn string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(turn)) // it never fails
	return int64(h.Sum64())
}

// MarksAt are the marks of the turns of the messages with these numbers, by number; unknown ones are left out.
func (s *Store) MarksAt(ctx context.Context, seqs ...int64) (map[int64]int64, error) {
	marks := map[int64]int64{}
	err := s.read(ctx, "read marks for the index", `SELECT m.seq, m.turn_id FROM json_each(?) j JOIN messages m ON m.seq = j.value`, []any{array(seqs)}, func(rows *sql.Rows) error {
		var seq int64
		var turn string
		if err := rows.Scan(&seq, &turn); err != nil {
			return err
		}
		marks[seq] = MarkOf(turn)
		return nil
	})
	return marks, err
}

// array is numbers as JSON.
func array(numbers []int64) string {
	var b strings.Builder
	for i, n := range numbers {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatInt(n, 10))
	}
	return "[" + b.String() + "]"
}

// Said is a message that was found, with its conversation.
type Said struct {
	Entry
	// Session is the id, Key the key and Title the title of its conversation. Platform and User are as in Spoken.
	Session, Key, Title, Platform, User string
}

func (v *Said) fields() []any {
	return append(v.Entry.fields(), &v.Session, &v.Key, &v.Title, &v.Platform, &v.User)
}

// SaidAt are the messages with these numbers, newest first; unknown ones are left out.
func (s *Store) SaidAt(ctx context.Context, seqs ...int64) ([]Said, error) {
	return list[Said](ctx, s, "read messages that were found", `SELECT `+entryColumns+`, s.id, s.key, s.title, s.platform, `+spokenUser+`
		FROM json_each(?) j JOIN messages m ON m.seq = j.value JOIN sessions s ON s.id = m.session_id ORDER BY m.seq DESC`,
		array(seqs))
}
