package control_test

import (
	"context"
	"fmt"
	"time"

	"gatewaytui/core/control"
	"gatewaytui/core/ops"
)

// A Client is an ops.Console: what the console and the verbs do, a program can do as well. Without a gateway at the
// socket, a call says so at once.
func ExampleClient() {
	var console ops.Console = control.NewClient("/nonexistent/control.sock", control.ClientOptions{})
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if _, err := console.Status(ctx); ops.HasCode(err, ops.CodeUnavailable) {
		fmt.Println("no gateway answers")
	}
	// Output:
	// no gateway answers
}
