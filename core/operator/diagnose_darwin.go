package operator

import (
	"context"
	"fmt"
	"io"
)

// writeHost and writeSockets know nothing: on macOS the figures are those of other programs (lsof, vm_stat), which are not
// started here.
func writeHost(_ context.Context, w io.Writer)    { fmt.Fprintln(w, "not known on macOS") }
func writeSockets(_ context.Context, w io.Writer) { fmt.Fprintln(w, "not known on macOS") }
