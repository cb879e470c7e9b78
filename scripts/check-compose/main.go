// Loads a compose file as `docker compose` does, by the same library: the schema, interpolation, and that what is named is there.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	options, err := cli.NewProjectOptions(os.Args[1:], cli.WithOsEnv, cli.WithProfiles([]string{"*"}), cli.WithoutEnvironmentResolution)
	if err == nil {
		_, err = options.LoadProject(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
