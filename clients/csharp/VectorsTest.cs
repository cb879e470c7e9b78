using System;
using System.Globalization;
using System.Text;
using TransferService;

/// <summary>
/// Reads the shared vectors from standard input, since netstandard2.0 has no JSON parser: a line for each, with name,
/// header ("-": none), body, secret, now and verdict, separated by tabs, in base64 but for the last two.
/// `npm run test:nightly -- test/clients/verifiers.nightly.test.ts` runs it.
/// </summary>
public static class VectorsTest
{
    public static int Main()
    {
        var failed = 0;
        var count = 0;
        for (var line = Console.ReadLine(); line != null; line = Console.ReadLine())
        {
            var part = line.Split('\t');
            var header = part[1] == "-" ? null : Text(part[1]);
            var now = DateTimeOffset.Parse(part[4], CultureInfo.InvariantCulture);
            var verdict = "valid";
            try
            {
                Webhooks.Verify(header, Convert.FromBase64String(part[2]), Text(part[3]), now);
            }
            catch (SignatureException error)
            {
                verdict = error.Code;
            }
            count++;
            if (verdict == part[5]) continue;
            failed++;
            Console.WriteLine($"{Text(part[0])}: {verdict}, not {part[5]}");
        }
        Console.WriteLine($"{count} vectors, {failed} failed");
        return failed == 0 ? 0 : 1;
    }

    private static string Text(string base64) => Encoding.UTF8.GetString(Convert.FromBase64String(base64));
}
