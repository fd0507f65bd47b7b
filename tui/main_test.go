package tui

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// asChild makes the test binary a program that links Bubble Tea, prints one word and ends.
const asChild = "TUI_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(asChild) != "" {
		fmt.Print(childSays)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}
