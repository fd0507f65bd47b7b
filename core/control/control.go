// Package control is the control socket of CONTRACT.md, 7: a Server that answers HTTP/1.1 on a unix socket out of an
// ops.Console, and a Client that is an ops.Console over that socket.
//
// The package promises:
//
//   - Only the gateway's own user and root are answered: the socket is 0600 from its first moment, with any
//     umask, and the peer's credentials are read from the kernel as well (I5).
//   - Every answer, a refusal included, is JSON that says what is wrong and what to do; the exceptions are the liveness
//     probe, the metrics and the profiles, whose readers expect their own formats.
//   - A client that does not read, does not write or does not go away costs the gateway nothing: every wait on it has a
//     deadline, and the stop waits for it no longer than leaveTime.
//   - The console carries out a command. This package adds the caller, checks the form, and returns the answer.
package control

import (
	"time"

	"gatewaytui/core/ops"
)

// Headers of the wire.
const (
	// HeaderReadOnly with the value 1 makes the server refuse every POST of the request it is on (I6).
	HeaderReadOnly = "X-Gatewaytui-Read-Only"
	// HeaderLife names the life that answers, so that a client that resumes a stream sees that the sequence is another.
	HeaderLife = "X-Gatewaytui-Life"
)

// Bounds of the wire.
const (
	// maxMessageBody holds any text of ops.MaxText bytes: JSON needs at most six bytes for one of them.
	maxMessageBody = 6*ops.MaxText + maxBody
	maxBody        = 64 << 10

	// heartbeat is the pause after which a stream that has nothing to say shows that it lives.
	heartbeat = 15 * time.Second
	// gather is the least time between two writes to a stream, and together how many bytes do not wait for it: a write
	// costs the gateway and each reader a system call and a wake-up, and a busy gateway has some thousand events a second.
	gather, together = 50 * time.Millisecond, 32 << 10
	// streamWrite bounds one write to a stream: the kernel's buffer takes many events, so a write that waits at all
	// means a reader that lags by all of it.
	streamWrite = 200 * time.Millisecond
	// answerWrite bounds the writing of one plain answer, and answerTime the console's part of it.
	answerWrite = 5 * time.Second
	answerTime  = 10 * time.Second
	// longAnswer bounds the answers that take their time by nature: profiles and traces.
	longAnswer = 10 * time.Minute
	// bodyRead bounds the arrival of a command's body.
	bodyRead = 30 * time.Second
	// maxWait is the longest long poll; a client that wants more asks again.
	maxWait = 60 * time.Second
	// quiet is how long a stream of a closing server waits for one more event before it ends.
	quiet = 25 * time.Millisecond
	// leaveTime is what Serve grants the requests in flight; the phase surrender has 0.5 s for all that it does.
	leaveTime = 300 * time.Millisecond
	// dialTime bounds a dial: a unix socket that is served accepts at once.
	dialTime = 200 * time.Millisecond
)

// failure is the body of each answer other than a success.
type failure struct {
	Error *ops.Error `json:"error"`
}
