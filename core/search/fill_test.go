package search

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"gatewaytui/core/ops"
	"gatewaytui/core/store"
	"gatewaytui/fixtures/soak"
)

// memory is a store in memory, whose numbers are used again as those of SQLite are.
type memory map[int64]store.Spoken

func (m memory) Newest(context.Context) (newest int64, _ error) {
	for seq := range m {
		newest = max(newest, seq)
	}
	return newest, nil
}

func (m memory) SpokenIn(_ context.Context, least, most int64) (out []store.Spoken, _ error) {
	for seq := least; seq <= most; seq++ {
		if v, there := m[seq]; there && v.Text != "" {
			out = append(out, v)
		}
	}
	return out, nil
}

func (memory) Shrink(context.Context) {}

func (m memory) MarksAt(_ context.Context, seqs ...int64) (map[int64]int64, error) {
	marks := map[int64]int64{}
	for _, seq := range seqs {
		if v, there := m[seq]; there {
			marks[seq] = store.MarkOf(v.Turn)
		}
	}
	return marks, nil
}

func (m memory) SaidAt(_ context.Context, seqs ...int64) (out []store.Said, _ error) {
	for _, seq := range seqs {
		if v, there := m[seq]; there {
			out = append(out, store.Said{Entry: store.Entry{Seq: seq, Turn: v.Turn, Message: store.Message{Content: v.Text}}, Key: v.Key, Platform: v.Platform, User: v.User})
		}
	}
	return out, nil
}

// settle takes steps until there is nothing more to do.
func settle(t interface {
	Helper()
	Fatal(args ...any)
}, f *filler,
) {
	t.Helper()
	for n := 0; ; n++ {
		did, err := f.step(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if did == nothing {
			return
		}
		if n > 100_000 {
			t.Fatal("the index is never done")
		}
	}
}

// CV13: once it is done the index has exactly the messages of the store, for any order of writes, deletions and restarts, and where
// numbers are used again. A search in between returns no message that the store does not have.
func TestCV13_TheIndexFollowsTheStore(t *testing.T) {
	soak.Checks(t, 15, 200) // each has files of its own
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "search")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		path, ctx := filepath.Join(dir, "search.db"), context.Background()
		m, turns := memory{}, 0
		x := New(Options{Path: path})
		x.store = m
		var f *filler
		open := func(t *rapid.T) {
			file, err := open(ctx, path)
			if err != nil {
				t.Fatal(err)
			}
			f = &filler{store: m, file: file}
			if f.reach, err = file.reach(ctx); err != nil {
				t.Fatal(err)
			}
			f.swept, x.file = f.reach.high, file
		}
		closeFile := func(t *rapid.T) {
			if err := f.file.close(); err != nil {
				t.Fatal(err)
			}
		}
		open(t)
		defer func() { closeFile(t) }()
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				newest, _ := m.Newest(ctx)
				for i := range rapid.IntRange(1, 150).Draw(t, "messages") {
					turns++
					v := store.Spoken{Seq: newest + 1 + int64(i), Turn: strconv.Itoa(turns), Key: "chat:dm:1", Platform: "chat", User: "maria"}
					if i%3 != 0 { // the others are of tools
						v.Text = fmt.Sprintf("word n%d", turns)
					}
					m[v.Seq] = v
				}
			},
			"delete the newest": func(t *rapid.T) {
				newest, _ := m.Newest(ctx)
				least := newest - rapid.Int64Range(1, 200).Draw(t, "messages")
				maps.DeleteFunc(m, func(seq int64, _ store.Spoken) bool { return seq > least })
			},
			"delete some": func(t *rapid.T) {
				for _, seq := range slices.Sorted(maps.Keys(m)) {
					if rapid.IntRange(0, 9).Draw(t, "of ten") == 0 {
						delete(m, seq)
					}
				}
				f.swept = f.reach.high
			},
			"step": func(t *rapid.T) {
				if _, err := f.step(ctx); err != nil {
					t.Fatal(err)
				}
			},
			"restart": func(t *rapid.T) {
				closeFile(t)
				open(t)
			},
			"delete the file": func(t *rapid.T) {
				closeFile(t)
				if err := remove(path); err != nil {
					t.Fatal(err)
				}
				open(t)
			},
			"": func(t *rapid.T) {
				found, err := x.Find(ctx, Query{Text: "word", Limit: ops.MaxLimit})
				if err != nil {
					t.Fatal(err)
				}
				for _, h := range found.Items {
					if seq, _ := strconv.ParseInt(h.ID, 10, 64); m[seq].Turn != h.Turn {
						t.Fatalf("a search returned %+v, and the store has %+v", h, m[seq])
					}
				}
			},
		})
		settle(t, f)
		f.swept = f.reach.high // what was deleted while the newest messages were compared
		settle(t, f)
		seqs, _, err := f.noted(ctx, 1<<40, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		var want []int64
		for _, seq := range slices.Backward(slices.Sorted(maps.Keys(m))) {
			if m[seq].Text != "" {
				want = append(want, seq)
			}
		}
		if !slices.Equal(seqs, want) {
			t.Fatalf("the index has %d messages, want %d:\n%v\n%v", len(seqs), len(want), seqs, want)
		}
		for _, seq := range want[:min(len(want), 20)] { // its words are those of the message that has the number now
			if got, err := matching(ctx, f.file, `"`+m[seq].Text+`"`, 1<<40, 10); err != nil || !slices.Equal(got, []int64{seq}) {
				t.Fatalf("%q is found at %v (%v), want %d", m[seq].Text, got, err, seq)
			}
		}
	})
}
