package views

import (
	"fmt"
	"testing"
)

// everySize draws a screen at every size, in ASCII and not, into an album.
func everySize(t *testing.T, sc Screen) *album {
	t.Helper()
	var a album
	for _, size := range sizes {
		for _, ascii := range []bool{true, false} {
			sc.W, sc.H, sc.ASCII = size[0], size[1], ascii
			lines := Draw(sc)
			exact(t, lines, sc.W, sc.H)
			inert(t, lines)
			title := fmt.Sprintf("%dx%d", sc.W, sc.H)
			if ascii {
				title += " ascii"
			}
			a.add(title, lines)
		}
	}
	return &a
}

func TestTheShutdownViewLooksAsReviewed(t *testing.T) {
	states := stopStates()
	states["done-gone"] = func() Screen { return goneAfter(stopStates()["done"]()) }
	for name, screen := range states {
		t.Run(name, func(t *testing.T) { everySize(t, screen()).check(t, "shutdown-"+name) })
	}
}
