/** Java N5 as a writer beside others: the role `java` of the workers of torture's `java`, played by Java itself. */

import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.janelia.saalfeldlab.n5.DataBlock;
import org.janelia.saalfeldlab.n5.DatasetAttributes;
import org.janelia.saalfeldlab.n5.N5FSWriter;

public final class Beside {
    private int done, lost, failed, torn;

    /** Counts in an attribute, which nobody else changes. */
    private void changeAttribute(N5FSWriter n5) {
        Integer found = n5.getAttribute("a", "java", Integer.class);
        if (n5.getDatasetAttributes("a") == null)
            ++torn;
        if (done > 0 && (found == null || found != done))
            ++lost;
        n5.setAttribute("a", "java", done + 1);
        ++done;
    }

    /** Counts in the first element, and in all of the second half of the only block. The rest is that of others. */
    private void changeBlock(N5FSWriter n5, DatasetAttributes dataset) {
        DataBlock<int[]> block = n5.readChunk("a", dataset, 0);
        int[] elements = block.getData();
        int half = elements.length / 2;
        for (int i = half; i < elements.length; ++i)
            if (elements[i] != elements[0]) {
                ++torn;
                break;
            }
        if (elements[0] != done)
            ++lost;
        elements[0] = done + 1;
        java.util.Arrays.fill(elements, half, elements.length, done + 1);
        n5.writeChunk("a", dataset, block);
        ++done;
    }

    public static void main(String[] words) throws Exception {
        Beside beside = new Beside();
        try (N5FSWriter n5 = new N5FSWriter(words[1])) {
            DatasetAttributes dataset = n5.getDatasetAttributes("a");
            System.out.println("ready");
            String millis = new BufferedReader(new InputStreamReader(System.in)).readLine();
            long end = System.nanoTime() + 1_000_000 * Long.parseLong(millis);
            while (System.nanoTime() < end)
                try {
                    if (words[0].equals("attributes"))
                        beside.changeAttribute(n5);
                    else
                        beside.changeBlock(n5, dataset);
                } catch (RuntimeException error) {
                    if (beside.failed++ == 0)
                        System.err.println("the first of Java's that failed: " + error);
                }
        }
        System.out.println(beside.done + " " + beside.lost + " " + beside.failed + " " + beside.torn);
    }
}
