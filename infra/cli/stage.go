package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/throughline/throughline/infra/app"
	"github.com/throughline/throughline/infra/bootstrap"
	"github.com/throughline/throughline/infra/deploy"
	"github.com/throughline/throughline/infra/deploycheck"
	"github.com/throughline/throughline/infra/restore"
)

func bootstrapFlags(f *flags) func(context.Context) error {
	f.stage()
	var o bootstrap.Options
	f.StringVar(&o.Index, "index", "", "name of the Pinecone index; the default is that of the stack")
	f.StringVar(&o.IndexRegion, "pinecone-region", "", "region of the Pinecone index; the default is that of the stack")
	f.BoolVar(&o.Apply, "apply", false, "make what is missing")
	return func(ctx context.Context) error {
		of, err := f.open()
		if err != nil {
			return err
		}
		cfg, err := awsconfig.LoadDefaultConfig(ctx, awsconfig.WithRegion(of.Region))
		if err != nil {
			return fmt.Errorf("read the AWS configuration: %w", err)
		}
		return bootstrap.Run(ctx, secretsmanager.NewFromConfig(cfg), of, o, f.out)
	}
}

func readyFlags(f *flags) func(context.Context) error {
	f.stage()
	isUrgent := f.urgent()
	var isDeletion bool
	var named string
	f.Func("delete", "the stack, repeated: say what hinders its deletion", func(text string) error {
		named, isDeletion = text, true
		return nil
	})
	return func(ctx context.Context) error {
		of, err := f.open()
		if err != nil {
			return err
		}
		var problems []string
		if isDeletion {
			problems = deploy.TeardownProblems(ctx, of, named)
		} else {
			problems = deploy.Problems(ctx, http.DefaultClient, of, *isUrgent)
		}
		if len(problems) == 0 {
			return nil
		}
		fmt.Fprintf(f.problems, "the stage %s of %s is not ready:\n", f.env, f.config)
		for _, p := range problems {
			fmt.Fprintln(f.problems, "  "+p)
		}
		fmt.Fprintln(f.problems, "Parameters go into parameter_overrides of the stage. docs/deploying.md has the whole road.")
		return errFound
	}
}

func releaseFlags(f *flags) func(context.Context) error {
	f.stage()
	isUrgent := f.urgent()
	return func(ctx context.Context) error {
		of, err := f.open()
		if err != nil {
			return err
		}
		return deploy.WriteRelease(ctx, f.out, f.argument, of, *isUrgent)
	}
}

func brakeFlags(f *flags) func(context.Context) error {
	f.stage()
	isOff := f.Bool("off", false, "end the brake")
	return func(ctx context.Context) error {
		of, cfg, _, err := f.connect(ctx)
		if err != nil {
			return err
		}
		return deploy.Brake(ctx, cfg, of.Stack, f.argument, *isOff, f.out)
	}
}

func appFlags(f *flags) func(context.Context) error {
	f.stage()
	isFresh := f.Bool("fresh", false, "no user has sessions in the contexts of the example that ships")
	isUrgent := f.urgent()
	return func(ctx context.Context) error {
		file, err := app.Read(f.argument)
		if err != nil {
			return err
		}
		of, cfg, _, err := f.connect(ctx)
		if err != nil {
			return err
		}
		return app.Give(ctx, cfg, of, file, *isFresh, *isUrgent, f.out)
	}
}

func readOnlyFlags(f *flags) func(context.Context) error {
	f.stage()
	isOff := f.Bool("off", false, "let the stage be written again")
	return func(ctx context.Context) error {
		of, cfg, operator, err := f.connect(ctx)
		if err != nil {
			return err
		}
		return restore.New(cfg, of, operator, time.Time{}, f.out).SetReadOnly(ctx, !*isOff)
	}
}

func restoreFlags(f *flags) func(context.Context) error {
	f.stage()
	return func(ctx context.Context) error {
		at, err := time.Parse(time.RFC3339, f.argument)
		if err != nil {
			return fmt.Errorf("%q must be a time such as 2026-02-05T18:30:00Z", f.argument)
		}
		of, cfg, operator, err := f.connect(ctx)
		if err != nil {
			return err
		}
		return restore.New(cfg, of, operator, at, f.out).Run(ctx)
	}
}

func deployCheckFlags(f *flags) func(context.Context) error {
	f.stage()
	named := f.String("stack", "", "the stack of a stage that nobody uses, repeated")
	return func(ctx context.Context) error {
		of, err := f.open()
		if err != nil {
			return err
		}
		if err := deploycheck.Confirm(of, *named); err != nil {
			return err
		}
		cfg, _, err := of.Connect(ctx)
		if err != nil {
			return err
		}
		return deploycheck.Run(ctx, cfg, of, f.out, f.runOther)
	}
}

// runOther runs another command for the same stage, of this program or of make.
func (f *flags) runOther(ctx context.Context, arguments ...string) error {
	name, arguments := arguments[0], arguments[1:]
	if name != "make" {
		arguments = append(append([]string{name}, arguments...), "-env", f.env, "-config", f.config)
		if code := run(ctx, arguments, f.out, f.problems); code != done {
			return fmt.Errorf("throughline %s exits with %d", name, code)
		}
		return nil
	}
	arguments = append([]string{"--no-print-directory", "ENV=" + f.env, "CONFIG=" + f.config}, arguments...)
	//nolint:gosec // the Makefile's targets, with this command's own arguments
	other := exec.CommandContext(ctx, "make", arguments...)
	other.Stdin, other.Stdout, other.Stderr = os.Stdin, f.out, f.problems
	return other.Run()
}
