// Package offer is the command's side of the way to the proxy of a gateway (see package proxy). It runs inside a network namespace
// that has nothing but its own loopback.
//
// What it promises: the command that Argv starts is exec'd by the same process, with HTTP_PROXY and its sisters naming a port of
// 127.0.0.1 on which the gateway's proxy answers. There is no helper: its pid, signals and exit code are the command's own. Where that
// cannot be set up the command does not start, and its stderr says why.
//
// A binary that imports this package becomes the step in its init, as with package landlock.
package offer

// title is the first argument of the step between fork and exec.
const title = "gatewaytui-offer"

// Argv is the command argv with the proxy whose socket is at the path socket, as the command sees both it and program, this
// program's own file.
func Argv(program, socket string, argv []string) []string {
	return append([]string{program, title, socket, "--"}, argv...)
}
