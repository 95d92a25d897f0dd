import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.Base64;

/**
 * An old integration in Java with HttpURLConnection, which labels every body as a form, and with the character set of
 * an old Windows machine. Calls come as lines of method, address and body, with tabs between them; each answer goes out
 * as a line with the status, a tab and the body.
 */
class Caller {
    private static final int CHUNK_BYTES = 64;

    public static void main(String[] words) throws IOException {
        boolean chunked = words[0].equals("chunked");
        String credential = Base64.getEncoder().encodeToString(words[1].getBytes(StandardCharsets.UTF_8));
        BufferedReader calls = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = calls.readLine(); line != null; line = calls.readLine()) {
            String[] call = line.split("\t", 3);
            HttpURLConnection connection = (HttpURLConnection) new URL(call[1]).openConnection();
            connection.setRequestProperty("Authorization", "Basic " + credential);
            if (call[0].equals("POST")) {
                connection.setRequestMethod("POST");
                connection.setDoOutput(true);
                if (chunked) {
                    connection.setChunkedStreamingMode(CHUNK_BYTES);
                }
                try (OutputStream body = connection.getOutputStream()) {
                    body.write(call[2].getBytes(Charset.forName("windows-1252")));
                }
            }
            int status = connection.getResponseCode();
            try (InputStream answer = status < 400 ? connection.getInputStream() : connection.getErrorStream()) {
                System.out.write((status + "\t").getBytes(StandardCharsets.UTF_8));
                System.out.write(answer.readAllBytes());
                System.out.write('\n');
            }
        }
        System.out.flush();
    }
}
