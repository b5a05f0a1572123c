import java.io.BufferedWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

/** Reads and prints every event of every file of a folder, as {@code jfr print} does; one line a file. */
public class Judge {
    public static void main(String[] arguments) throws Exception {
        try (var files = Files.list(Path.of(arguments[0]));
                BufferedWriter out = Files.newBufferedWriter(Path.of(arguments[1]))) {
            for (Path file : files.sorted().toList()) {
                out.write(file.getFileName() + " " + judge(file));
                out.newLine();
            }
        }
    }

    private static String judge(Path path) {
        Map<String, Integer> counts = new TreeMap<>();
        long printed = 0;
        try (RecordingFile file = new RecordingFile(path)) {
            while (file.hasMoreEvents()) {
                RecordedEvent event = file.readEvent();
                printed += event.toString().length();
                counts.merge(event.getEventType().getName(), 1, Integer::sum);
            }
        } catch (Throwable error) {
            return "ERROR " + error.toString().replace('\n', ' ');
        }
        return "ok " + printed + " " + counts.toString().replace(" ", "");
    }
}
