//go:build !no_matrix

package platforms

import (
	"log/slog"

	"gatewaytui/core/adapter/matrix"
	"gatewaytui/core/config"
)

func init() {
	add("matrix", func(a config.Adapters, s secrets, log *slog.Logger) matrix.Options {
		return matrix.Options{Homeserver: a.Matrix.Homeserver, User: a.Matrix.User, Groups: a.Matrix.Groups, Token: s["token"].Value, TokenSource: s["token"].Source, Log: log}
	}, matrix.New)
}
