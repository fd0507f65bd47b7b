package lines

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestColumnsOfAnyWidthFitAndTheImportantOnesStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 12).Draw(t, "columns")
		limit := rapid.IntRange(2*3+cellGap, 300).Draw(t, "limit")
		columns := make([]fitted, n)
		for i := range columns {
			rank := i
			if i > 1 {
				rank = rapid.IntRange(2, 9).Draw(t, "rank")
			}
			columns[i] = fitted{at: i, rank: rank, empty: rapid.Bool().Draw(t, "empty"), natural: rapid.IntRange(1, maxLast).Draw(t, "natural")}
			columns[i].least = least(columns[i], minCell, limit)
		}
		all := slices.Clone(columns)
		got := fit(columns, limit)
		if w := total(got); w > limit {
			t.Fatalf("%d columns wide, on %d: %+v", w, limit, got)
		}
		if got[0].at != 0 || got[1].at != 1 {
			t.Fatalf("the first two are gone: %+v", got)
		}
		for i, c := range got {
			if c.width < 1 || c.width > c.natural {
				t.Errorf("a column of %d gets %d", c.natural, c.width)
			}
			if i > 0 && got[i-1].at >= c.at {
				t.Errorf("the order is lost: %+v", got)
			}
		}
		for i := range all {
			all[i].width = all[i].natural
		}
		if total(all) <= limit && len(got) != n {
			t.Errorf("all of %+v fit on %d, and %d are shown", all, limit, len(got))
		}
	})
}
